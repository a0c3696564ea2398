# find_package(mach): the library as the target mach::mach, and stubs of interfaces:
#
#   mach_mig(FILE.defs [OPTIONS option...])
#
# has mig write NAMEUser.c, NAMEServer.c, NAME.h and NAMEServer.h into the current binary directory whenever FILE.defs or
# a file that it includes is newer, NAME being FILE without its end. The variables NAME_USER and NAME_SERVER have each side's files, as
# sources for a target, and NAME_INCLUDE_DIR where the headers are. OPTIONS are passed on to mig.

# The first is set anew by the installation if the libraries are not in lib/ of the prefix.
get_filename_component(_mach_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
get_filename_component(_mach_library "${CMAKE_CURRENT_LIST_DIR}/../../libmach.so.1" ABSOLUTE)

set(MACH_MIG "${_mach_prefix}/bin/mig" CACHE FILEPATH "The interface compiler")
mark_as_advanced(MACH_MIG)

if(NOT TARGET mach::mach)
    add_library(mach::mach SHARED IMPORTED)
    set_target_properties(mach::mach PROPERTIES
        IMPORTED_LOCATION "${_mach_library}"
        IMPORTED_SONAME libmach.so.1
        INTERFACE_INCLUDE_DIRECTORIES "${_mach_prefix}/include")
endif()

unset(_mach_library)
unset(_mach_prefix)

function(mach_mig defs)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "OPTIONS")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "mach_mig(${defs}): what is ${arg_UNPARSED_ARGUMENTS}? There are FILE.defs and OPTIONS")
    endif()
    get_filename_component(source "${defs}" ABSOLUTE)
    get_filename_component(name "${defs}" NAME_WE)
    set(here "${CMAKE_CURRENT_BINARY_DIR}")
    set(user "${here}/${name}User.c" "${here}/${name}.h")
    set(server "${here}/${name}Server.c" "${here}/${name}Server.h")
    add_custom_command(
        OUTPUT ${user} ${server}
        COMMAND "${MACH_MIG}" -MD -MF "${here}/${name}.d" ${arg_OPTIONS}
                -user "${here}/${name}User.c" -header "${here}/${name}.h"
                -server "${here}/${name}Server.c" -sheader "${here}/${name}Server.h" "${source}"
        DEPENDS "${source}" "${MACH_MIG}"
        DEPFILE "${here}/${name}.d"
        WORKING_DIRECTORY "${here}"
        COMMENT "Stubs of ${defs}"
        VERBATIM)
    set(${name}_USER ${user} PARENT_SCOPE)
    set(${name}_SERVER ${server} PARENT_SCOPE)
    set(${name}_INCLUDE_DIR "${here}" PARENT_SCOPE)
endfunction()
