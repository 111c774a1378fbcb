# What is asked for is the version of the distribution array-interchange, or an older one of the
# same major version.
set(PACKAGE_VERSION "0.2.0")
string(REGEX MATCH "^[0-9]+" _interchange_major "${PACKAGE_VERSION}")

if(PACKAGE_FIND_VERSION_MAJOR STREQUAL _interchange_major
   AND PACKAGE_FIND_VERSION VERSION_LESS_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
else()
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
endif()
unset(_interchange_major)
