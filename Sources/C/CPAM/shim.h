// Wrappers of libpam's items that have types of their own.
#include <security/pam_appl.h>
#include <stddef.h>

/// In the place of libpam's own pause after a failure: the gateway answers at fixed times anyway.
static inline void roamward_pam_no_pause(int result, unsigned microseconds, void *context) {
  (void)result;
  (void)microseconds;
  (void)context;
}

static inline int roamward_pam_without_pause(pam_handle_t *handle) {
  return pam_set_item(handle, PAM_FAIL_DELAY, (const void *)roamward_pam_no_pause);
}
