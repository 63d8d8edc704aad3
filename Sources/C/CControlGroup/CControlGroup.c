#define _GNU_SOURCE
#include "CControlGroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/magic.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

// Linux 5.2; the C library has them since glibc 2.36.
enum { FSOPEN_close_on_exec = 1, FSCONFIG_create = 6, FSMOUNT_close_on_exec = 1 };

// IPPROTO_MPTCP.
enum { MPTCP = 262 };

static int call_bpf(enum bpf_cmd command, union bpf_attr *attributes) {
  return (int)syscall(SYS_bpf, command, attributes, sizeof *attributes);
}

int ccontrolgroup_load_marker(uint32_t mark) {
  // r1 points to a struct bpf_sock, whose mark is writable at this hook. r0 is the verdict: 1 permits the socket.
  const struct bpf_insn program[] = {
      // An MPTCP socket sends by sockets of the kernel, which have no mark: it is refused, and programs fall back to TCP.
      {.code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = BPF_REG_2, .src_reg = BPF_REG_1, .off = offsetof(struct bpf_sock, protocol)},
      {.code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = BPF_REG_2, .imm = MPTCP, .off = 2},
      {.code = BPF_ALU | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
      {.code = BPF_JMP | BPF_EXIT},
      {.code = BPF_ALU | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = (int32_t)mark},
      {.code = BPF_STX | BPF_MEM | BPF_W, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_2, .off = offsetof(struct bpf_sock, mark)},
      {.code = BPF_ALU | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1},
      {.code = BPF_JMP | BPF_EXIT},
  };
  union bpf_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.prog_type = BPF_PROG_TYPE_CGROUP_SOCK;
  attributes.expected_attach_type = BPF_CGROUP_INET_SOCK_CREATE;
  attributes.insns = (uintptr_t)program;
  attributes.insn_cnt = sizeof program / sizeof program[0];
  attributes.license = (uintptr_t) "MIT";
  strcpy(attributes.prog_name, "roamward_mark");
  return call_bpf(BPF_PROG_LOAD, &attributes);
}

int ccontrolgroup_attach(int group, int program, int yields) {
  union bpf_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.target_fd = (uint32_t)group;
  attributes.attach_bpf_fd = (uint32_t)program;
  attributes.attach_type = BPF_CGROUP_INET_SOCK_CREATE;
  if (yields) attributes.attach_flags = BPF_F_ALLOW_OVERRIDE;
  return call_bpf(BPF_PROG_ATTACH, &attributes) < 0 ? -1 : 0;
}

int ccontrolgroup_detach(int group) {
  union bpf_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.target_fd = (uint32_t)group;
  attributes.attach_type = BPF_CGROUP_INET_SOCK_CREATE;
  return call_bpf(BPF_PROG_DETACH, &attributes) < 0 ? -1 : 0;
}

int ccontrolgroup_mount(void) {
  int context = (int)syscall(SYS_fsopen, "cgroup2", FSOPEN_close_on_exec);
  if (context < 0) return -1;
  int mount = -1;
  if (syscall(SYS_fsconfig, context, FSCONFIG_create, NULL, NULL, 0) == 0)
    mount = (int)syscall(SYS_fsmount, context, FSMOUNT_close_on_exec, 0);
  int error = errno;
  close(context);
  errno = error;
  return mount;
}

int ccontrolgroup_is_hierarchy(int folder) {
  struct statfs status;
  return fstatfs(folder, &status) == 0 && status.f_type == CGROUP2_SUPER_MAGIC;
}

int ccontrolgroup_open(int folder, const char *name, int flags) { return openat(folder, name, flags | O_CLOEXEC | O_NOFOLLOW); }

int ccontrolgroup_make(int folder, const char *name) { return mkdirat(folder, name, 0755); }

int ccontrolgroup_remove(int folder, const char *name) { return unlinkat(folder, name, AT_REMOVEDIR); }
