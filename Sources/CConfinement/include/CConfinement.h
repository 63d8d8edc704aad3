// How a process of ours gives up what it does not need: its user, its capabilities, the right to gain any, and system calls. For good.
#ifndef CCONFINEMENT_H
#define CCONFINEMENT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Takes the user and the group for good, with no others. 0, or -1 with errno (EPERM: without CAP_SETUID and CAP_SETGID).
int cconfinement_become(uid_t user, gid_t group);

/// Empties the bounding set, as far as there is CAP_SETPCAP: so before `cconfinement_become`, which takes it away.
void cconfinement_drop_bounds(void);

/// Drops every capability for good. 0, or -1 with errno.
int cconfinement_drop_capabilities(void);

/// No new privileges by exec, no core file, no tracing by others of the same user. 0, or -1 with errno.
int cconfinement_forbid_privileges(void);

/// SIGKILL when the thread that started this process ends (PR_SET_PDEATHSIG). A change of the user takes it back. 0, or -1 with errno.
int cconfinement_end_with_parent(void);

/// Bounds, for good: open descriptors, bytes of memory that is no file's (RLIMIT_DATA); and no file grows. 0, or -1 with errno.
int cconfinement_limit(uint64_t descriptors, uint64_t memory);

enum { CCONFINEMENT_TESTS = 2 };

/// What an argument has to be, by its number from 0: `(argument & mask) == value`.
struct cconfinement_test {
  unsigned int argument;
  uint64_t mask, value;
};

/// One system call, and what becomes of it where each test holds.
struct cconfinement_rule {
  /// As `cconfinement_call` gives it, or libseccomp's SCMP_SYS.
  int call;
  unsigned int tests;
  struct cconfinement_test test[CCONFINEMENT_TESTS];
  /// 0: it is allowed. Else it is not made, and its caller gets this errno value.
  int error;
};

/// The number of a system call by its name, also of one that only other architectures have; -1: there is none.
int cconfinement_call(const char *name);

/// From here on, on every thread, only system calls that a rule allows; all others fail with EPERM, and one by the numbers of another
/// architecture ends the process. 0, or a negative errno value.
int cconfinement_load(const struct cconfinement_rule *rules, size_t count);

#endif
