# Run by cpack before it packs.

# Folders are readable by everyone, regardless of the umask.
file(CHMOD_RECURSE ${CPACK_TEMPORARY_DIRECTORY} DIRECTORY_PERMISSIONS
     OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# The same sources make the same packages: all files have the time of the changelog (https://reproducible-builds.org).
set(ENV{SOURCE_DATE_EPOCH} ${CPACK_SOURCE_DATE})
