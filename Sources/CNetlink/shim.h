#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <netlink/msg.h>
#include <netlink/errno.h>
#include <netlink/genl/genl.h>
#include <netlink/genl/ctrl.h>
#include <linux/rtnetlink.h>
#include <linux/filter.h>
#include <sys/syscall.h>
#include <unistd.h>

// unshare(2) and setns(2) are behind _GNU_SOURCE, and syscall is variadic. 0, or -1 with errno.
static inline int cnetlink_unshare_network(void) { return (int)syscall(SYS_unshare, 0x40000000 /* CLONE_NEWNET */); }
static inline int cnetlink_enter_network(int fd) { return (int)syscall(SYS_setns, fd, 0x40000000 /* CLONE_NEWNET */); }
