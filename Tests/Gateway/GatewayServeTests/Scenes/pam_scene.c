// A module of PAM for pam.bash: the name of the user says what it does. Every password but "right" is wrong.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <security/pam_appl.h>
#include <security/pam_modules.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// One message of a style; for a question, whether the answer is `expected`.
static int say(pam_handle_t *handle, int style, const char *text, const char *expected) {
  const struct pam_conv *conversation = NULL;
  if (pam_get_item(handle, PAM_CONV, (const void **)&conversation) != PAM_SUCCESS || !conversation) return PAM_CONV_ERR;
  struct pam_message message = {.msg_style = style, .msg = text};
  const struct pam_message *messages = &message;
  struct pam_response *responses = NULL;
  int result = conversation->conv(1, &messages, &responses, conversation->appdata_ptr);
  if (result != PAM_SUCCESS) return result;
  if (expected && (!responses || !responses->resp || strcmp(responses->resp, expected) != 0)) result = PAM_AUTH_ERR;
  if (responses) free(responses->resp);
  free(responses);
  return result;
}

// Tries what a module that has been taken over would try. Returns the first that works; NULL: none.
static const char *escape(void) {
  if (fork() >= 0) return "fork";
  execl("/bin/true", "true", (char *)NULL);
  if (open("/tmp/escaped", O_WRONLY | O_CREAT, 0600) >= 0) return "a file that is written";
  if (open("/run/work/state/gateway.db", O_RDONLY) >= 0) return "the store";
  if (open("/etc/shadow", O_RDONLY) >= 0) return "shadow";
  // The scene tells whether this kernel confines the reading.
  if (access("/etc/has-landlock", F_OK) == 0 && open("/var/lib/dpkg/status", O_RDONLY) >= 0) return "the state of another program";
  if (mkdir("/tmp/escaped", 0700) == 0 || unlink("/etc/pam.d/roamward") == 0 || chmod("/etc/pam.d", 0777) == 0) return "a changed folder";
  if (setuid(0) == 0 || seteuid(0) == 0) return "root";
  if (kill(getppid(), 0) == 0 || kill(-1, 0) == 0) return "a signal";
  if (ptrace(PTRACE_ATTACH, getppid(), 0, 0) == 0) return "ptrace";
  if (mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) return "code by mmap";
  if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) return "empty code by mmap";
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED || mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0) return "code by mprotect";
  if (socket(AF_NETLINK, SOCK_RAW, 0) >= 0 || socket(AF_PACKET, SOCK_RAW, 0) >= 0 || socket(AF_INET, SOCK_RAW, 1) >= 0)
    return "a raw socket";
  int server = socket(AF_INET, SOCK_STREAM, 0);
  if (server < 0 || listen(server, 1) == 0) return "a server";
  if (syscall(SYS_memfd_create, "x", 0) >= 0 || syscall(SYS_unshare, 0x10000000) == 0 || syscall(SYS_bpf, 0, 0, 0) >= 0)
    return "a new kernel object";
  return NULL;
}

static int act(pam_handle_t *handle, const char *user) {
  if (strcmp(user, "crash") == 0) raise(SIGSEGV), abort();
  if (strcmp(user, "hang") == 0) {
    for (;;) sleep(1000);
  }
  if (strcmp(user, "away") == 0) return PAM_AUTHINFO_UNAVAIL;
  if (strcmp(user, "noise") == 0) {
    for (int number = 0; number < 10; number++) dprintf(number, "noise on %d\n", number);
    puts("noise");
    fflush(stdout);
  }
  if (strcmp(user, "escape") == 0) {
    const char *found = escape();
    if (found) return say(handle, PAM_ERROR_MSG, found, NULL), PAM_SYSTEM_ERR;
  }
  if (strcmp(user, "rename") == 0) return pam_set_item(handle, PAM_USER, "alice");
  if (strcmp(user, "asker") == 0) {
    say(handle, PAM_TEXT_INFO, "\033[31mTwo questions follow.", NULL);
    int result = say(handle, PAM_PROMPT_ECHO_ON, "Colour? ", "blue");
    return result == PAM_SUCCESS ? say(handle, PAM_PROMPT_ECHO_OFF, "Token? ", "123 456") : result;
  }
  if (strcmp(user, "endless") == 0) {
    while (say(handle, PAM_PROMPT_ECHO_OFF, "More? ", "no") != PAM_CONV_ERR) continue;
    return PAM_AUTH_ERR;
  }
  if (strcmp(user, "informed") == 0) return say(handle, PAM_TEXT_INFO, "Your account\tends in 3 days.", NULL);
  return PAM_SUCCESS;
}

int pam_sm_authenticate(pam_handle_t *handle, int flags, int argc, const char **argv) {
  (void)flags, (void)argc, (void)argv;
  const char *user = NULL;
  if (pam_get_user(handle, &user, NULL) != PAM_SUCCESS) return PAM_USER_UNKNOWN;
  // The scene has the whole service away, or has it ask everybody, and then say no.
  if (access("/etc/service-is-away", F_OK) == 0) return PAM_AUTHINFO_UNAVAIL;
  if (access("/etc/service-asks", F_OK) == 0) {
    say(handle, PAM_PROMPT_ECHO_OFF, "Password: ", "right");
    say(handle, PAM_PROMPT_ECHO_OFF, "Token? ", "none");
    return PAM_AUTH_ERR;
  }
  if (strcmp(user, "roamward-doctor") == 0 || strncmp(user, "unknown", 7) == 0) return PAM_USER_UNKNOWN;
  int result = say(handle, PAM_PROMPT_ECHO_OFF, "Password: ", "right");
  return result == PAM_SUCCESS ? act(handle, user) : result;
}

int pam_sm_acct_mgmt(pam_handle_t *handle, int flags, int argc, const char **argv) {
  (void)flags, (void)argc, (void)argv;
  const char *user = NULL;
  if (pam_get_user(handle, &user, NULL) != PAM_SUCCESS) return PAM_USER_UNKNOWN;
  return strcmp(user, "expired") == 0 ? PAM_ACCT_EXPIRED : strcmp(user, "renew") == 0 ? PAM_NEW_AUTHTOK_REQD : PAM_SUCCESS;
}

int pam_sm_setcred(pam_handle_t *handle, int flags, int argc, const char **argv) {
  (void)handle, (void)flags, (void)argc, (void)argv;
  return PAM_SUCCESS;
}
