# Gives the target interchange::headers: a folder to include from, and nothing to link to, for the
# functions come by the capsule interchange._C_API (interchange_import() in interchange.h).
include_guard(GLOBAL)

if(NOT TARGET interchange::headers)
  add_library(interchange::headers INTERFACE IMPORTED)
  get_filename_component(_interchange_include "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
  set_target_properties(
    interchange::headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${_interchange_include}")
  set(interchange_INCLUDE_DIRS "${_interchange_include}")
  unset(_interchange_include)
endif()
