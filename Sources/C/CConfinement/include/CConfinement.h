// Functions by which a process irrevocably drops its user, its capabilities, the right to gain any, and system calls.
#ifndef CCONFINEMENT_H
#define CCONFINEMENT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Changes user and group irrevocably, without supplementary groups. 0, or -1 with errno (EPERM: without CAP_SETUID and CAP_SETGID).
int cconfinement_become(uid_t user, gid_t group);

/// Empties the bounding set, if CAP_SETPCAP is available. Call it before `cconfinement_become`, which drops that capability.
void cconfinement_drop_bounds(void);

/// Drops every capability irrevocably. 0, or -1 with errno.
int cconfinement_drop_capabilities(void);

/// No new privileges by exec, no core file, no tracing by other processes of the same user. 0, or -1 with errno.
int cconfinement_forbid_privileges(void);

/// SIGKILL when the thread that started this process ends (PR_SET_PDEATHSIG). A change of the user resets it. 0, or -1 with errno.
int cconfinement_end_with_parent(void);

/// Irrevocable limits: open descriptors, bytes of anonymous memory (RLIMIT_DATA); and no file grows. 0, or -1 with errno.
int cconfinement_limit(uint64_t descriptors, uint64_t memory);

/// Leaves of all files those below these folders, to be read (landlock(7)), on this thread and those that it starts. Folders that do not
/// exist are left out. 0, also where the kernel has no Landlock, or -1 with errno. Call it after `cconfinement_forbid_privileges`.
int cconfinement_read_below(const char *const *folders, size_t count);

enum { CCONFINEMENT_TESTS = 2 };

/// The required value of an argument, by its number from 0: `(argument & mask) == value`.
struct cconfinement_test {
  unsigned int argument;
  uint64_t mask, value;
};

/// One system call, and its result if all tests match.
struct cconfinement_rule {
  /// The number from `cconfinement_call`, or libseccomp's SCMP_SYS.
  int call;
  unsigned int tests;
  struct cconfinement_test test[CCONFINEMENT_TESTS];
  /// 0: the call is allowed. Otherwise it fails with this errno value.
  int error;
};

/// The number of a system call by its name, including those that only other architectures have; -1: unknown.
int cconfinement_call(const char *name);

/// Allows only system calls that match a rule, from now on and on every thread. All others fail with EPERM, and one by the numbers of
/// another architecture ends the process. 0, or a negative errno value.
int cconfinement_load(const struct cconfinement_rule *rules, size_t count);

/// The same in two parts: the first takes a few tenths of a millisecond and restricts nothing yet, the second is one system call. 0, or a
/// negative errno value.
struct cconfinement_filter;
int cconfinement_prepare(const struct cconfinement_rule *rules, size_t count, struct cconfinement_filter **filter);
int cconfinement_apply(const struct cconfinement_filter *filter);

#endif
