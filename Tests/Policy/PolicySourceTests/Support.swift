import PolicyFiles
import RoamwardCore
import Testing

@testable import PolicySource

/// Swift Testing has a type of the same name.
typealias Place = RoamwardCore.SourceLocation

/// Files in memory. Folders come of themselves, owned by root.
struct MemoryFiles {
  struct File {
    var bytes: [UInt8]
    var status = PolicyFileSystem.Status(kind: .regular, mode: 0o600)
  }

  var files: [String: File] = [:]
  var folders: [String: PolicyFileSystem.Status] = [:]

  init(_ texts: [String: String] = [:]) {
    for (path, text) in texts { self[path] = text }
  }

  subscript(path: String) -> String? {
    get { files[path].map { String(decoding: $0.bytes, as: UTF8.self) } }
    set {
      files[path] = newValue.map { File(bytes: Array($0.utf8)) }
      folders[folder(of: path)] = folders[folder(of: path)] ?? .init(kind: .folder, mode: 0o755)
    }
  }

  var system: PolicyFileSystem {
    PolicyFileSystem(
      names: { [self] path throws(FileFailure) in
        guard folders[path] != nil else { throw FileFailure("No such file or directory", isMissing: true) }
        return files.keys.filter { folder(of: $0) == path }.map { baseName(of: $0) }
      },
      status: { [self] path throws(FileFailure) in
        guard let status = folders[path] ?? files[path]?.status else { throw FileFailure("No such file or directory", isMissing: true) }
        return status
      },
      read: { [self] path, limit throws(FileFailure) in
        guard let file = files[path] else { throw FileFailure("No such file or directory", isMissing: true) }
        return (file.status.kind == .regular ? Array(file.bytes.prefix(limit)) : [], file.status)
      },
      workingDirectory: { "/work" })
  }

  func load(_ layers: [String] = ["/etc/p"], asRoot: Bool = true) -> LoadedPolicies {
    loadPolicies(layers: layers, files: system, requireRootOwnership: asRoot)
  }
}

/// One policy file, `/etc/p/10.yaml`, beside `corp.conf`.
func load(_ policy: String, _ others: [String: String] = [:]) -> LoadedPolicies {
  MemoryFiles(["/etc/p/10.yaml": policy, "/etc/p/corp.conf": Samples.wireGuard].merging(others) { $1 }).load()
}

/// The one rule's condition of a policy whose match is given.
func condition(_ match: String) -> (condition: Condition?, diagnostics: [Diagnostic]) {
  let loaded = load(
    "version: 1\ntunnels:\n  t:\n    provider: { command: { up: [/u], down: [/d] } }\n    on-demand: { rules: [ { match: \(match), action: connect } ] }\n"
  )
  return (loaded.policies.tunnels.first?.onDemand.rules.first?.match, loaded.diagnostics)
}

extension LoadedPolicies {
  var report: String { diagnostics.map { $0.rendered() }.joined(separator: "\n") }
}

enum Samples {
  static let privateKey = "YAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk="
  static let presharedKey = "FpCyhws9cxwWoV4xELtfJvjJN+zQVRPISllRWgeopVE="
  static let peerKey = "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg="

  /// Of the private key.
  static let ownKey = "Y2FD6uTgrq+/bbBAXCNOtE+PGk8Papoh7qaWBpQUXn0="
  static let otherKey = "TrMvSoP4jYQlY6RIzBgbssQqY3vxI2Pi+y71lOWWXX0="

  static let wireGuard = """
    # The company's
    [Interface]
    PrivateKey = \(privateKey)
    ListenPort = 51820
    Address = 10.77.3.2/32, fd77::2/128
    DNS = 10.77.0.1, corp.example
    MTU = 1380

    [Peer]
    PublicKey = \(peerKey)
    PresharedKey = \(presharedKey)
    AllowedIPs = 10.77.0.0/16, fd77::/48
    AllowedIPs = 10.78.0.0/16
    Endpoint = vpn.corp.example:51820
    PersistentKeepalive = 25

    """

  static let policy = """
    version: 1

    networks:
      home:
        any-of:
          - { ssid: Home, gateway: 192.168.7.1 }
          - { interface: ethernet, subnet: 192.168.7.0/24 }
      trusted: { network: home }

    tunnels:
      corp:
        description: Company network
        enabled: true
        class: enterprise
        provider:
          wireguard: { config: corp.conf }
        on-demand:
          enabled: yes
          rules:
            - name: at home
              match: { network: [home, trusted] }
              action: disconnect
            - match:
                interface: wifi
                not: { ssid: [Home, "Home 5G", no, 0123, hex:00ff] }
              action: connect
              on-unknown: no-match
            - match: { dns-server: [10.0.0.53, 17.*], dns-domain: "*.corp.example" }
              action: disconnect
            - match: { dns-server: { any: [10.0.0.0/8] }, ssid-file: trusted.ssids, interface-name: "wl*" }
              action: ignore
            - action: ignore
          timing: { decide-within: 1500ms }
        routes:
          include: [default]
          exclude: 10.99.0.0/16
        dns:
          servers: 10.0.0.53
          search-domains: [corp.example]
          match-domains: [corp.example, 10.in-addr.arpa]
        mtu: 1420
      lab:
        enabled: off
        provider:
          command:
            up: /usr/sbin/openvpn --config lab.ovpn
            down: [/usr/bin/kill, "the lab"]
            status: bin/status
            interface: tun7
            timeout: 2m

    """

  /// The keys and values that the other policy does not use.
  static let wholeLanguage = """
    version: 1
    networks:
      office: { probe: { url: https://beacon.corp.example/, status: 204, pin: sha256//MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=, timeout: 2s } }
      home: { ssid-glob: "Home*", bssid: 02:00:5e:00:00:07, gateway-mac: [02:00:5e:10:00:01], wifi-security: [wpa3, wpa2-enterprise] }
    tunnels:
      t:
        provider: { command: { up: /u, down: /d } }
        on-demand:
          rules:
            - match: { network: office, time: { days: [mon-fri, sun], from: "08:00", to: "18:00" } }
              action: disconnect
            - match: { captive-portal: true, internet: no, metered: true, power: battery, not: { network: home } }
              action: ignore
            - action: evaluate-connection
              connections:
                - { domains: [public.corp.example], action: never-connect }
                - { domains: ["*"], action: connect-if-needed, dns-servers: [10.0.0.53], probe: https://intranet.corp.example/ }
          timing: { settle: 500ms, release-delay: 5s, idle: 10m, decide-within: 5s }
        routes: { include: default, lan: block, on-overlap: refuse }
        proxy: { http: 10.0.0.80:3128, exclude: [corp.example, 10.0.0.0/8] }
        overhead: 80
        kill-switch: off
        include-all-networks: true

    """
}
