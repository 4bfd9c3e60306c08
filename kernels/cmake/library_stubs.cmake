# SPDX-License-Identifier: BSD-3-Clause
# The tests' program loads a stub under each name and version by which Debian's HDF5 and netCDF ask for a library that
# only their access over a network wants.
if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
  return()
endif()
function(stub name number source versions)
  set(map ${CMAKE_CURRENT_BINARY_DIR}/${name}.map)
  file(CONFIGURE OUTPUT ${map} CONTENT "${versions}\n")
  add_library(stub_of_${name} SHARED tests/${source}.c)
  set_target_properties(stub_of_${name} PROPERTIES OUTPUT_NAME ${name} SOVERSION ${number})
  target_link_options(stub_of_${name} PRIVATE -Wl,--version-script=${map})
  target_link_libraries(iokernel PRIVATE -Wl,--no-as-needed stub_of_${name})
endfunction()
stub(curl 4 curl_stub "CURL_OPENSSL_4 { global: curl_*; };")
stub(curl-gnutls 4 curl_stub "CURL_GNUTLS_3 { global: curl_*; };")
if(NOT IO_HAS_adios2) # libzip, by which ADIOS2 reads campaigns, asks for more of libcrypto
  stub(crypto 3 crypto_stub "OPENSSL_3.0.0 { global: EVP_sha256; HMAC; SHA256; };")
endif()
stub(xml2 2 xml2_stub
     "LIBXML2_2.6.0 { global: xmlReadMemory; };\nLIBXML2_2.4.30 { global: xml*; } LIBXML2_2.6.0;")
