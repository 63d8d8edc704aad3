#include "CXFRM.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/xfrm.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 256 };

union Found {
  struct xfrm_usersa_id state;
  struct xfrm_userpolicy_id policy;
};

static int ask(int socket, uint16_t type, uint16_t flags, const void *body, size_t length, const uint32_t *identifier) {
  struct {
    struct nlmsghdr header;
    char body[512];
  } request;
  memset(&request, 0, sizeof request);
  memcpy(request.body, body, length);
  size_t total = NLMSG_ALIGN(NLMSG_LENGTH(length));
  if (identifier != NULL) {
    struct rtattr attribute = {.rta_len = RTA_LENGTH(sizeof *identifier), .rta_type = XFRMA_IF_ID};
    memcpy((char *)&request + total, &attribute, sizeof attribute);
    memcpy((char *)&request + total + RTA_LENGTH(0), identifier, sizeof *identifier);
    total += RTA_SPACE(sizeof *identifier);
  }
  request.header.nlmsg_len = (uint32_t)total;
  request.header.nlmsg_type = type;
  request.header.nlmsg_flags = flags | NLM_F_REQUEST;
  request.header.nlmsg_seq = 1;
  return send(socket, &request, total, 0) < 0 ? -errno : 0;
}

/// The identifier of a state or a policy: 0 if it has none.
static uint32_t identifier_of(const struct nlmsghdr *message, size_t body) {
  if (message->nlmsg_len < NLMSG_LENGTH(body)) return 0;
  const struct rtattr *attribute = (const void *)((const char *)NLMSG_DATA(message) + NLMSG_ALIGN(body));
  int rest = (int)(message->nlmsg_len - NLMSG_LENGTH(NLMSG_ALIGN(body)));
  for (; RTA_OK(attribute, rest); attribute = RTA_NEXT(attribute, rest)) {
    if (attribute->rta_type != XFRMA_IF_ID || RTA_PAYLOAD(attribute) < sizeof(uint32_t)) continue;
    uint32_t value;
    memcpy(&value, RTA_DATA(attribute), sizeof value);
    return value;
  }
  return 0;
}

static void take(const struct nlmsghdr *message, uint32_t identifier, union Found *found, int *count) {
  if (*count == MOST) return;
  if (message->nlmsg_type == XFRM_MSG_NEWSA) {
    const struct xfrm_usersa_info *state = NLMSG_DATA(message);
    if (identifier_of(message, sizeof *state) != identifier) return;
    found[(*count)++].state =
        (struct xfrm_usersa_id){.daddr = state->id.daddr, .spi = state->id.spi, .family = state->family, .proto = state->id.proto};
  } else if (message->nlmsg_type == XFRM_MSG_NEWPOLICY) {
    const struct xfrm_userpolicy_info *policy = NLMSG_DATA(message);
    if (identifier_of(message, sizeof *policy) != identifier) return;
    found[(*count)++].policy = (struct xfrm_userpolicy_id){.sel = policy->sel, .index = policy->index, .dir = policy->dir};
  }
}

/// Reads the answer to a dump, or to a request with an acknowledgement. Returns 0 or -errno.
static int hear(int socket, uint32_t identifier, union Found *found, int *count) {
  static _Alignas(struct nlmsghdr) char buffer[64 * 1024];
  for (;;) {
    ssize_t length = recv(socket, buffer, sizeof buffer, 0);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return -errno;
    size_t rest = (size_t)length;
    for (const struct nlmsghdr *message = (const void *)buffer; NLMSG_OK(message, rest); message = NLMSG_NEXT(message, rest)) {
      if (message->nlmsg_type == NLMSG_DONE) return 0;
      if (message->nlmsg_type == NLMSG_ERROR) return ((const struct nlmsgerr *)NLMSG_DATA(message))->error;
      if (found != NULL) take(message, identifier, found, count);
    }
  }
}

static int sweep(int socket, uint32_t identifier, uint16_t dump, uint16_t removal, size_t length) {
  union Found found[MOST];
  int count = 0;
  int removed = 0;
  // The kernel reads an attribute of a dump's request behind the body of its type, and takes a short one for none.
  const char nothing[sizeof(struct xfrm_userpolicy_id)] = {0};
  int status = ask(socket, dump, NLM_F_DUMP, nothing, length, NULL);
  if (status == 0) status = hear(socket, identifier, found, &count);
  if (status < 0) return status;
  for (int i = 0; i < count; i++) {
    status = ask(socket, removal, NLM_F_ACK, &found[i], length, &identifier);
    if (status == 0 && hear(socket, identifier, NULL, NULL) == 0) removed++;
  }
  return removed;
}

int cxfrm_remove(uint32_t identifier) {
  int socket_ = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_XFRM);
  if (socket_ < 0) return -errno;
  int policies = sweep(socket_, identifier, XFRM_MSG_GETPOLICY, XFRM_MSG_DELPOLICY, sizeof(struct xfrm_userpolicy_id));
  int states = sweep(socket_, identifier, XFRM_MSG_GETSA, XFRM_MSG_DELSA, sizeof(struct xfrm_usersa_id));
  close(socket_);
  if (policies < 0) return policies;
  return states < 0 ? states : policies + states;
}
