/// Options that run a program, load code, or include another file.
let programOptions: Set<String> = [
  "up", "down", "route-up", "route-pre-down", "ipchange", "tls-verify", "auth-user-pass-verify", "client-connect", "client-disconnect",
  "learn-address", "plugin", "script-security", "config", "iproute", "tls-crypt-v2-verify", "client-crresponse", "dns-updown", "up-restart",
  "setenv", "setenv-safe", "engine", "providers", "pkcs11-providers", "tls-export-cert",
]

/// Options that write files, or that the policy's own command line sets.
let serviceOptions: Set<String> = [
  "daemon", "log", "log-append", "syslog", "status", "writepid", "cd", "replay-persist", "management", "management-hold", "memstats",
  "askpass",
  "tmp-dir",
]

/// Options whose argument is a file, unless the text is inline.
let fileOptions: Set<String> = [
  "ca", "cert", "key", "pkcs12", "tls-auth", "tls-crypt", "tls-crypt-v2", "crl-verify", "dh", "extra-certs", "secret", "auth-user-pass",
  "http-proxy-user-pass", "capath",
]

/// Other options in a client's file (openvpn(8)). The name of an unknown option is not shown: it may be a key without its block.
let knownOptions: Set<String> = [
  "allow-compression", "allow-pull-fqdn", "allow-recursive-routing", "auth", "auth-nocache", "auth-retry", "auth-token",
  "auth-user-pass", "bind", "block-ipv6", "block-outside-dns", "ca", "capath", "cert", "chroot", "cipher", "client", "client-nat",
  "comp-lzo", "comp-noadapt", "compress", "connect-retry", "connect-retry-max", "connect-timeout", "crl-verify", "data-ciphers",
  "data-ciphers-fallback", "dev", "dev-node", "dev-type", "dh", "dhcp-option", "disable-dco", "disable-occ", "dns",
  "errors-to-stderr", "explicit-exit-notify", "extra-certs", "fast-io", "float", "fragment", "group", "hand-window", "http-proxy",
  "http-proxy-option", "http-proxy-retry", "http-proxy-timeout", "http-proxy-user-pass", "ifconfig", "ifconfig-ipv6",
  "ifconfig-noexec", "ifconfig-nowarn", "ignore-unknown-option", "inactive", "ip-win32", "keepalive", "key", "key-direction",
  "keysize", "link-mtu", "local", "lport", "machine-readable-output", "mark", "mlock", "mssfix", "mtu-disc", "mtu-test", "multihome",
  "mute", "mute-replay-warnings", "ncp-ciphers", "ncp-disable", "nice", "no-replay", "nobind", "ns-cert-type", "passtos",
  "peer-fingerprint", "persist-key", "persist-local-ip", "persist-remote-ip", "persist-tun", "ping", "ping-exit", "ping-restart",
  "ping-timer-rem", "pkcs12", "port", "prng", "proto", "proto-force", "pull", "pull-filter", "push-peer-info", "rcvbuf",
  "redirect-gateway", "redirect-private", "register-dns", "remote", "remote-cert-eku", "remote-cert-ku", "remote-cert-tls",
  "remote-random", "remote-random-hostname", "reneg-bytes", "reneg-pkts", "reneg-sec", "replay-window", "resolv-retry", "route",
  "route-delay", "route-gateway", "route-ipv6", "route-ipv6-gateway", "route-method", "route-metric", "route-noexec", "route-nopull",
  "rport", "secret", "server-poll-timeout", "session-timeout", "show-net-up", "single-session", "sndbuf", "socket-flags",
  "socks-proxy", "socks-proxy-retry", "static-challenge", "suppress-timestamps", "tls-auth", "tls-cert-profile", "tls-cipher",
  "tls-ciphersuites", "tls-client", "tls-crypt", "tls-crypt-v2", "tls-exit", "tls-groups", "tls-timeout", "tls-version-max",
  "tls-version-min", "topology", "tran-window", "tun-mtu", "tun-mtu-extra", "tun-mtu-max", "txqueuelen", "user", "verb",
  "verify-hash", "verify-x509-name", "windows-driver", "x509-track", "x509-username-field",
]
