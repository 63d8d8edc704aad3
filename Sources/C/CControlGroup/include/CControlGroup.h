// System calls on control groups that the C library has no functions for: bpf(2), fsopen(2), fsmount(2).
#ifndef CCONTROLGROUP_H
#define CCONTROLGROUP_H

#include <stdint.h>

/// Loads a program of the type BPF_PROG_TYPE_CGROUP_SOCK that gives each new socket this mark (SO_MARK) and lets it pass. A descriptor,
/// close-on-exec, or -1 with errno.
int ccontrolgroup_load_marker(uint32_t mark);

/// Attaches such a program to a control group (BPF_CGROUP_INET_SOCK_CREATE) in place of one that was attached to it before. It stays until
/// the group is removed. 0, or -1 with errno.
int ccontrolgroup_attach(int group, int program, int yields);

/// Detaches every such program from a group. 0, or -1 with errno.
int ccontrolgroup_detach(int group);

/// Mounts the version 2 hierarchy without a place in any folder: it is reachable through the returned descriptor alone, and is gone with
/// it. A descriptor, close-on-exec, or -1 with errno.
int ccontrolgroup_mount(void);

/// 1 if the open folder is in a version 2 hierarchy, otherwise 0.
int ccontrolgroup_is_hierarchy(int folder);

/// openat(2) and mkdirat(2), close-on-exec. A descriptor or 0, or -1 with errno.
int ccontrolgroup_open(int folder, const char *name, int flags);
int ccontrolgroup_make(int folder, const char *name);

/// unlinkat(2) of a folder. 0, or -1 with errno.
int ccontrolgroup_remove(int folder, const char *name);

#endif
