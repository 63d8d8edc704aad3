#define _GNU_SOURCE
#include "CConfinement.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
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

int cconfinement_read_below(const char *const *folders, size_t count) {
  long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
  // EPERM: a filter of the service manager that does not know it.
  if (version < 0) return errno == ENOSYS || errno == EOPNOTSUPP || errno == EPERM ? 0 : -1;
  // The rights of the first version: to execute, write, read, list, remove and make.
  struct landlock_ruleset_attr handled = {.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1};
  int rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
  if (rules < 0) return -1;
  int result = 0;
  for (size_t i = 0; result == 0 && i < count; i++) {
    int folder = open(folders[i], O_PATH | O_CLOEXEC | O_DIRECTORY);
    if (folder < 0) continue;
    struct landlock_path_beneath_attr below = {
        .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
        .parent_fd = folder,
    };
    result = (int)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0);
    close(folder);
  }
  if (result == 0) result = (int)syscall(SYS_landlock_restrict_self, rules, 0);
  close(rules);
  return result;
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

// Of one that is prepared ahead nothing is freed: it is used once, and the process keeps its confinement.
struct cconfinement_filter {
  struct sock_fprog program;
};

// libseccomp gives a filter's instructions to a descriptor alone. A pipe, because no file may grow (`cconfinement_limit`).
static int export_to(struct sock_fprog *program, scmp_filter_ctx filter) {
  enum { MOST = 4096 };
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) return -errno;
  int result = seccomp_export_bpf(filter, ends[1]);
  program->filter = result == 0 ? calloc(MOST, sizeof(struct sock_filter)) : NULL;
  if (result == 0 && !program->filter) result = -ENOMEM;
  if (result == 0) {
    ssize_t size = read(ends[0], program->filter, MOST * sizeof(struct sock_filter));
    if (size <= 0 || (size_t)size % sizeof(struct sock_filter) != 0 || (size_t)size == MOST * sizeof(struct sock_filter)) result = -EIO;
    program->len = (unsigned short)((size_t)size / sizeof(struct sock_filter));
  }
  close(ends[0]);
  close(ends[1]);
  return result;
}

int cconfinement_prepare(const struct cconfinement_rule *rules, size_t count, struct cconfinement_filter **prepared) {
  // Clear an inherited READ_IMPLIES_EXEC: otherwise readable mappings would be executable too.
  if (personality(PER_LINUX) < 0) return -errno;
  // Forbidden calls fail; a compromised program learns nothing more.
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
  if (!filter) return -ENOMEM;
  // A call by the numbers of another architecture (i386, x32) ends the process.
  int result = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  for (size_t i = 0; result == 0 && i < count; i++) result = rules[i].tests > CCONFINEMENT_TESTS ? -EINVAL : add(filter, &rules[i]);
  struct cconfinement_filter *new = result == 0 ? calloc(1, sizeof *new) : NULL;
  if (result == 0) result = new ? export_to(&new->program, filter) : -ENOMEM;
  seccomp_release(filter);
  if (result == 0) {
    *prepared = new;
  } else if (new) {
    free(new->program.filter);
    free(new);
  }
  return result;
}

int cconfinement_apply(const struct cconfinement_filter *filter) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return -errno;
  // On every thread; the number of a thread that cannot be confined is a failure too.
  long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter->program);
  return result < 0 ? -errno : result > 0 ? -ESRCH : 0;
}

int cconfinement_load(const struct cconfinement_rule *rules, size_t count) {
  struct cconfinement_filter *filter = NULL;
  int result = cconfinement_prepare(rules, count, &filter);
  if (!filter) return result;
  result = cconfinement_apply(filter);
  free(filter->program.filter);
  free(filter);
  return result;
}
