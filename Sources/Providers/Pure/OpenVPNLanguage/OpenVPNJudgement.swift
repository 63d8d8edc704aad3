/// The treatment of an option of a stranger's configuration.
package enum OpenVPNJudgement: Equatable, Sendable {
  /// It is passed on.
  case passed
  /// It is passed on to an openvpn that runs by itself; a provider's gets it from the provider.
  case own
  /// It names a file with keys.
  case namesFile
  /// It is left out, and the tunnel is the same without it.
  case leftOut(String)
  /// The tunnel does not work without it.
  case unsupported(String)
  /// It runs, loads, reads or writes something.
  case refused
  /// It is no option of a client, or openvpn would refuse its arguments.
  case unknown
  case badArguments
}

extension OpenVPNOption {
  /// The option of `setenv opt NAME …`: the option, if it is known; the same option otherwise.
  package var meant: OpenVPNOption {
    guard name == "setenv", words.count > 2, words[1] == "opt" else { return self }
    var inner = self
    inner.words.removeFirst(2)
    if inner.name.utf8.count >= 3, inner.name.hasPrefix("--") { inner.words[0].removeFirst(2) }
    if inner.judgement() == .unknown { return self }
    return inner.meant
  }

  /// - Parameter ignored: the names in `ignore-unknown-option`.
  package func judgement(ignored: Set<String> = [], inConnection: Bool = false) -> OpenVPNJudgement {
    if case .connection = contents { return inConnection ? .refused : .passed }
    if case .block = contents {
      if name == "auth-user-pass" { return .unsupported("write its name and password into the policy's credentials") }
      return blocks.contains(name) && (!inConnection || connectionOptions.contains(name)) ? .passed : .refused
    }
    if refusedOptions.contains(name) { return .refused }
    if let reason = unsupportedOptions[name] { return .unsupported(reason) }
    if let reason = leftOutOptions[name] { return .leftOut(reason) }
    if name == "peer-fingerprint", arguments.count == 1 {
      return inConnection ? .refused : isFingerprint(arguments.first, bytes: [32]) ? .passed : .badArguments
    }
    if name == "verify-hash", !isFingerprint(arguments.first, bytes: [20, 32]) { return .badArguments }
    if keyFiles.contains(name) || name == "auth-user-pass" && !arguments.isEmpty {
      if arguments.first == "[inline]" { return .leftOut("its contents are in the block") }
      return arguments.isEmpty ? .badArguments : inConnection ? .refused : .namesFile
    }
    if name == "http-proxy" && arguments.count > 2 || name == "socks-proxy" && arguments.count > 2 { return .refused }
    guard let (count, judgement) = passed[name] else {
      return ignored.contains(name) ? .leftOut("`ignore-unknown-option` names it") : .unknown
    }
    guard count.contains(arguments.count) else { return .badArguments }
    if name == "remote", arguments.count == 3, !protocols.contains(words[3]) { return .badArguments }
    return !inConnection || connectionOptions.contains(name) ? judgement : .refused
  }
}

/// Bytes of two digits with colons between them, as openvpn wants a hash.
private func isFingerprint(_ text: String?, bytes: Set<Int>) -> Bool {
  let parts = (text ?? "").split(separator: ":", omittingEmptySubsequences: false)
  return bytes.contains(parts.count) && parts.allSatisfy { $0.utf8.count == 2 && $0.allSatisfy(\.isHexDigit) }
}

/// The names of tags that have contents. No other has any.
private let blocks: Set<String> = [
  "ca", "cert", "key", "extra-certs", "tls-auth", "tls-crypt", "tls-crypt-v2", "pkcs12", "crl-verify", "secret", "peer-fingerprint", "dh",
]

/// Options whose argument is a file with keys.
private let keyFiles: Set<String> = blocks.subtracting(["peer-fingerprint"])

/// Options that run a program, load code, or read or write something.
private let refusedOptions: Set<String> = [
  "up", "down", "route-up", "route-pre-down", "ipchange", "tls-verify", "auth-user-pass-verify", "client-connect", "client-disconnect",
  "learn-address", "plugin", "script-security", "config", "iproute", "tls-crypt-v2-verify", "client-crresponse", "dns-updown", "up-restart",
  "down-pre", "engine", "provider", "providers", "pkcs11-providers", "pkcs11-id", "pkcs11-id-management", "tls-export-cert", "log",
  "log-append", "status", "writepid", "cd", "chroot", "replay-persist", "management", "management-hold", "management-client",
  "management-client-user", "management-client-group", "management-client-auth", "management-query-passwords", "management-query-proxy",
  "management-query-remote", "management-up-down", "management-external-key", "management-external-cert", "management-signal",
  "management-forget-disconnect", "management-log-cache", "memstats", "askpass", "tmp-dir", "capath", "http-proxy-user-pass",
  "client-config-dir", "setcon", "auth-gen-token-secret", "ifconfig-pool-persist", "genkey", "lladdr",
]

private let unsupportedOptions: [String: String] = [
  "auth-federate": "it is the sign-in of AWS's own client, which openvpn does not know",
  "scramble": "it is the protocol of a patched openvpn",
  "cryptoapicert": "its key is in the certificate store of Windows",
  "no-iv": "openvpn 2.6 does not know it", "no-replay-iv": "openvpn 2.6 does not know it",
]

private let leftOutOptions: [String: String] = {
  var options: [String: String] = [:]
  for name in [
    "block-outside-dns", "register-dns", "ip-win32", "route-method", "tap-sleep", "show-net-up", "windows-driver", "dev-node", "dhcp-renew",
    "dhcp-release", "dhcp-pre-release", "pause-exit", "service", "allow-nonadmin", "win-sys",
  ] { options[name] = "it is for Windows" }
  for name in [
    "ncp-disable", "keysize", "key-method", "tls-remote", "compat-names", "no-name-remapping", "max-routes", "http-proxy-retry",
    "socks-proxy-retry", "ecdh-curve", "prng", "opt-verify", "tun-ipv6", "ifconfig-nowarn", "disable-occ", "comp-noadapt",
  ] { options[name] = "supported versions of openvpn do not know it, or ignore it" }
  for name in ["setenv", "setenv-safe"] { options[name] = "only programs would read it, and none are run" }
  for name in [
    "ignore-unknown-option", "push-continuation", "daemon", "syslog", "machine-readable-output", "errors-to-stderr", "suppress-timestamps",
    "mlock", "x509-track", "disable-dco", "remap-usr1", "bind-dev",
  ] { options[name] = "it does not concern the tunnel" }
  return options
}()

/// The options that are passed on, with the number of their arguments.
private let passed: [String: (ClosedRange<Int>, OpenVPNJudgement)] = {
  var options: [String: (ClosedRange<Int>, OpenVPNJudgement)] = [:]
  func add(_ count: ClosedRange<Int>, _ judgement: OpenVPNJudgement = .passed, _ names: String) {
    for name in names.split(separator: " ") { options[String(name)] = (count, judgement) }
  }
  add(
    0...0, .passed,
    "client tls-client pull remote-random remote-random-hostname nobind float multihome auth-nocache ping-timer-rem mtu-test fast-io "
      + "push-peer-info route-nopull block-ipv6 mute-replay-warnings no-replay allow-recursive-routing passtos tls-exit persist-local-ip "
      + "persist-remote-ip single-session allow-pull-fqdn tcp-nodelay auth-user-pass")
  add(
    1...1, .passed,
    "proto proto-force resolv-retry port rport lport local key-direction cipher data-ciphers data-ciphers-fallback ncp-ciphers auth "
      + "remote-cert-tls remote-cert-eku ns-cert-type tls-version-max tls-cipher tls-ciphersuites tls-groups tls-cert-profile "
      + "allow-compression ping ping-restart ping-exit reneg-bytes reneg-pkts hand-window tran-window tls-timeout connect-retry-max "
      + "connect-timeout server-poll-timeout tun-mtu-extra link-mtu mtu-disc sndbuf rcvbuf topology route-metric route-gateway "
      + "route-ipv6-gateway http-proxy-timeout session-timeout auth-token auth-token-user max-packet-size tun-mtu-max")
  add(0...1, .passed, "bind compress comp-lzo explicit-exit-notify")
  add(0...2, .passed, "mssfix route-delay")
  add(
    1...2, .passed,
    "verify-x509-name verify-hash tls-version-min reneg-sec connect-retry fragment tun-mtu socks-proxy replay-window inactive")
  add(2...2, .passed, "keepalive pull-filter ifconfig ifconfig-ipv6 http-proxy static-challenge")
  add(2...3, .passed, "http-proxy-option")
  add(1...2, .passed, "dhcp-option")
  add(1...3, .passed, "remote route-ipv6")
  add(1...4, .passed, "route")
  add(4...4, .passed, "client-nat")
  add(0...8, .passed, "redirect-gateway redirect-private remote-cert-ku socket-flags")
  add(1...8, .passed, "x509-username-field")
  add(2...15, .passed, "dns")
  add(0...0, .own, "persist-key persist-tun ifconfig-noexec route-noexec")
  add(1...1, .own, "dev dev-type user group verb mute nice mark txqueuelen auth-retry")
  return options
}()

/// The third argument of `remote`.
private let protocols: Set<String> = [
  "udp", "udp4", "udp6", "tcp", "tcp4", "tcp6", "tcp-client", "tcp4-client", "tcp6-client", "tcp-server", "tcp4-server", "tcp6-server",
]

/// The options that openvpn takes inside of `<connection>`.
private let connectionOptions: Set<String> = [
  "remote", "proto", "local", "port", "lport", "rport", "bind", "nobind", "float", "connect-timeout", "server-poll-timeout",
  "connect-retry", "connect-retry-max", "http-proxy", "http-proxy-option", "http-proxy-timeout", "socks-proxy", "explicit-exit-notify",
  "fragment", "mssfix", "tun-mtu", "tun-mtu-extra", "tun-mtu-max", "link-mtu", "mtu-disc", "key-direction", "tls-auth", "tls-crypt",
  "tls-crypt-v2",
]

extension OpenVPNFile {
  /// The names in `ignore-unknown-option`.
  package var ignored: Set<String> {
    Set(options.map(\.meant).filter { $0.name == "ignore-unknown-option" }.flatMap { Array($0.arguments) })
  }
}
