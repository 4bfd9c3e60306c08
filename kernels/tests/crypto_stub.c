/* SPDX-License-Identifier: BSD-3-Clause */
/* Only in the tests' build, in place of libcrypto, by which HDF5 signs what it asks of S3: 4,000 of the
 * program's 14,000 relocations less. Nothing is signed. */
#include <stddef.h>

typedef unsigned char byte;

const void *EVP_sha256(void);
byte *HMAC(const void *digest, const void *key, int length, const byte *data, size_t size, byte *code,
           unsigned *bytes);
byte *SHA256(const byte *data, size_t size, byte *digest);

const void *EVP_sha256(void) { return NULL; }

byte *HMAC(const void *digest, const void *key, int length, const byte *data, size_t size, byte *code,
           unsigned *bytes) {
    (void)digest, (void)key, (void)length, (void)data, (void)size, (void)code, (void)bytes;
    return NULL;
}

byte *SHA256(const byte *data, size_t size, byte *digest) {
    (void)data, (void)size, (void)digest;
    return NULL;
}
