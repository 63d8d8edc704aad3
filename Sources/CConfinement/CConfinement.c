#define _GNU_SOURCE
#include "CConfinement.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int cconfinement_become(uid_t user, gid_t group) {
  if (setgroups(0, NULL) < 0 && errno != EPERM) return -1;
  if (setresgid(group, group, group) < 0 || setresuid(user, user, user) < 0) return -1;
  return 0;
}

void cconfinement_drop_bounds(void) {
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++) prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

int cconfinement_drop_capabilities(void) {
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
  memset(data, 0, sizeof data);
  return (int)syscall(SYS_capset, &header, data);
}

int cconfinement_forbid_privileges(void) {
  struct rlimit none = {0, 0};
  if (setrlimit(RLIMIT_CORE, &none) < 0) return -1;
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) return -1;
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

int cconfinement_end_with_parent(void) { return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); }

// A lower limit stays: it cannot be raised again without a privilege.
static int limit(__rlimit_resource_t resource, uint64_t value) {
  struct rlimit bounds;
  if (getrlimit(resource, &bounds) < 0) return -1;
  if (bounds.rlim_max > value) bounds.rlim_max = value;
  bounds.rlim_cur = bounds.rlim_max;
  return setrlimit(resource, &bounds);
}

int cconfinement_limit(uint64_t descriptors, uint64_t memory) {
  if (limit(RLIMIT_NOFILE, descriptors) < 0 || limit(RLIMIT_DATA, memory) < 0) return -1;
  return limit(RLIMIT_FSIZE, 0);
}

int cconfinement_call(const char *name) { return seccomp_syscall_resolve_name(name); }

static int add(scmp_filter_ctx filter, const struct cconfinement_rule *rule) {
  struct scmp_arg_cmp tests[CCONFINEMENT_TESTS];
  for (unsigned int i = 0; i < rule->tests; i++) {
    tests[i] = SCMP_CMP(rule->test[i].argument, SCMP_CMP_MASKED_EQ, rule->test[i].mask, rule->test[i].value);
  }
  uint32_t action = rule->error == 0 ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO((uint32_t)rule->error);
  return seccomp_rule_add_array(filter, action, rule->call, rule->tests, tests);
}

int cconfinement_load(const struct cconfinement_rule *rules, size_t count) {
  // Clear an inherited READ_IMPLIES_EXEC: otherwise readable mappings would be executable too.
  if (personality(PER_LINUX) < 0) return -errno;
  // Forbidden calls fail; a compromised program learns nothing more.
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
  if (!filter) return -ENOMEM;
  int result = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
  // A call by the numbers of another architecture (i386, x32) ends the process.
  if (result == 0) result = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  for (size_t i = 0; result == 0 && i < count; i++) result = rules[i].tests > CCONFINEMENT_TESTS ? -EINVAL : add(filter, &rules[i]);
  if (result == 0) result = seccomp_load(filter);
  seccomp_release(filter);
  return result;
}
