# SPDX-License-Identifier: BSD-3-Clause
# The CGNS library, and which modes it supports.
find_by_header_and_library(cgns)
if(found)
  # With 32-bit indices, offsets overflow for larger meshes, and element lists are read back wrong.
  set(CMAKE_REQUIRED_INCLUDES ${CGNS_INCLUDE})
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
  check_c_source_compiles("#include <cgnstypes.h>\n_Static_assert(sizeof(cgsize_t) == 4, \"\");"
                          IOKERNEL_CGNS_HAS_32_BITS)
  unset(CMAKE_TRY_COMPILE_TARGET_TYPE)
  unset(CMAKE_REQUIRED_INCLUDES)
  if(IOKERNEL_CGNS_HAS_32_BITS)
    message(FATAL_ERROR "iokernel: in ${CGNS_INCLUDE}/cgnstypes.h of CGNS cgsize_t has 32 bits; expected 64: use a CGNS "
                        "built with -DCGNS_ENABLE_64BIT=ON (Spack: cgns+int64), or disable it with -DIOKERNEL_CGNS=OFF")
  endif()
endif()
if(found)
  # Link it before HDF5, which it uses.
  target_link_libraries(iokernel_cgns INTERFACE iokernel_hdf5 ${CMAKE_DL_LIBS})
  # Without H5Dwrite_multi the calls for several arrays exist too, but move one array at a time. Older versions have
  # different parameters.
  set(CMAKE_REQUIRED_INCLUDES ${CGNS_INCLUDE} ${HDF5_INCLUDE_DIRS} ${HDF5_C_INCLUDE_DIRS} ${MPI_C_INCLUDE_DIRS})
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
  check_c_source_compiles("#include <hdf5.h>\n#include <pcgnslib.h>\n#if !HDF5_HAVE_MULTI_DATASETS\n#error not here\n#endif\nint multi(void) { return cgp_coord_multi_write_data(0, 0, 0, 0, 0, 0, 0, 0); }"
                          IOKERNEL_CGNS_HAS_MULTI)
  unset(CMAKE_TRY_COMPILE_TARGET_TYPE)
  unset(CMAKE_REQUIRED_INCLUDES)
  if(IOKERNEL_CGNS_HAS_MULTI)
    list(APPEND definitions IOKERNEL_CGNS_MULTI=1)
  endif()
  # Our H5Fopen interposes the one of a shared HDF5; with a static one it would be defined twice.
  if(NOT "${HDF5_LINK_LIBRARIES};${HDF5_C_LIBRARIES};" MATCHES "hdf5[^;]*\\.a;")
    list(APPEND definitions IOKERNEL_CGNS_METADATA=1)
  endif()
endif()
