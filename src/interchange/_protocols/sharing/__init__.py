"""Memory shared with other processes of the host: what a handle names, and who keeps the memory.

Source: Linux, proc(5), memfd_create(2), mmap(2), unix(7); CUDA driver API, Interprocess
Communication.

Host memory can be shared if it is a shared mapping (``MAP_SHARED``) of a regular file: a mapped
file, ``multiprocessing.shared_memory``, a memfd.  The kernel says which file an address belongs to:
device, inode and offset.  The exporter keeps a descriptor of the file from the time of sharing, and
the handle names the process and the number of that descriptor; another process opens it as
``/proc/PID/fd/NUMBER``, which the kernel permits to processes of the same user.  No name of a file
is looked up later, so that a file that was replaced, and another file of the same name, cannot be
opened by mistake.  Because the kernel counts the mappings of a file, memory that was opened lives
until the last process has unmapped it or was killed; no process has to be told.

Each exporter has a registry, an unnamed file with one entry for each shared file: a random token
and the number of the descriptor.  A handle is valid only if the entry is equal to it.  This detects
a process id that was used again, a descriptor that was closed and used again, and a forged handle.

Device memory has no such count.  Its exporter answers requests on a socket, and keeps the memory
alive as long as the connection of an opener is open, which the kernel closes if the opener dies.
"""
