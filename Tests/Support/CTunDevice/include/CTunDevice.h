// A TUN device for tests, as the agent makes it for a provider.
#ifndef CTUNDEVICE_H
#define CTUNDEVICE_H

/// Opens a layer-3 TUN device without a packet header (IFF_TUN, IFF_NO_PI), close-on-exec. It goes with its last descriptor. A descriptor,
/// or -1 with errno.
int ctundevice_open(const char *name);

#endif
