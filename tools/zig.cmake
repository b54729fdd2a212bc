# A toolchain file: Clang, libc++ and a C library from Zig, which the package ziglang of PyPI brings to any system.
#
# In the environment, LAPWING_ZIG_TARGET names the target as Zig does, by default x86_64-windows-gnu, for which wheels are
# built in this way; tools/cross.py builds for the others. The interpreter that has the package is Python_EXECUTABLE,
# which scikit-build-core sets, or else LAPWING_ZIG_PYTHON of the environment.
if(NOT DEFINED ENV{LAPWING_ZIG_TARGET})
  set(ENV{LAPWING_ZIG_TARGET} x86_64-windows-gnu)
endif()
if(NOT DEFINED ENV{LAPWING_ZIG}) # found once; the environment also reaches CMake's trial compilations
  if(Python_EXECUTABLE)
    set(ENV{LAPWING_ZIG_PYTHON} "${Python_EXECUTABLE}")
  endif()
  execute_process(
    COMMAND "$ENV{LAPWING_ZIG_PYTHON}" -c "import os, ziglang; print(os.path.dirname(ziglang.__file__).replace(os.sep, '/'))"
    OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(ENV{LAPWING_ZIG} "${folder}/zig${CMAKE_HOST_EXECUTABLE_SUFFIX}")
endif()

set(target $ENV{LAPWING_ZIG_TARGET})
if(NOT CMAKE_HOST_WIN32 OR NOT target MATCHES "windows") # as on Windows itself, nothing is crossed there
  if(target MATCHES "windows")
    set(CMAKE_SYSTEM_NAME Windows)
  elseif(target MATCHES "macos")
    set(CMAKE_SYSTEM_NAME Darwin)
  else()
    set(CMAKE_SYSTEM_NAME Linux)
  endif()
  string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR "${target}")
endif()

set(CMAKE_CXX_COMPILER "$ENV{LAPWING_ZIG}" c++ -target ${target})
set(CMAKE_CXX_ARCHIVE_CREATE "\"$ENV{LAPWING_ZIG}\" ar qc <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_APPEND "\"$ENV{LAPWING_ZIG}\" ar q <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "\"$ENV{LAPWING_ZIG}\" ranlib <TARGET>")
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
