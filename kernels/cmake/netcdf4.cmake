# SPDX-License-Identifier: BSD-3-Clause
# The NetCDF C library, if built with parallel HDF5.
find_by_header_and_library(netcdf4)
if(found)
  # Link it before HDF5, whose error messages the method reads.
  target_link_libraries(iokernel_netcdf4 INTERFACE iokernel_hdf5)
  set(CMAKE_REQUIRED_INCLUDES ${NETCDF4_INCLUDE})
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
  check_c_source_compiles("#include <netcdf_meta.h>\n#if !NC_HAS_PARALLEL4\n#error not here\n#endif\nint here(void) { return 0; }"
                          IOKERNEL_NETCDF4_IS_PARALLEL)
  unset(CMAKE_TRY_COMPILE_TARGET_TYPE)
  unset(CMAKE_REQUIRED_INCLUDES)
  if(NOT IOKERNEL_NETCDF4_IS_PARALLEL)
    set(found FALSE)
  endif()
endif()
