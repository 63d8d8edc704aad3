import LinuxIO
import NetworkTypes
import PolicyFiles
import PolicySource
import RoamwardCore
import Testing

@testable import PolicyImport

/// Swift Testing has a type of the same name.
typealias Place = RoamwardCore.SourceLocation

let nowhere = Place(file: "f", line: 1, column: 1)

func fixture(_ name: String) throws -> [UInt8] {
  let folder = #filePath.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
  return try TextFile.read("\(folder)/Fixtures/\(name)")
}

/// The manifest of a provider of ours, as if its package were installed.
func installed(_ name: String) throws -> ProviderManifestFile {
  let folder = #filePath.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 }
  return ProviderManifestFile(
    path: "/usr/lib/roamward/providers/\(name).yaml", bytes: try TextFile.read("\(folder)/packaging/providers/\(name).yaml"))
}

/// Property lists are written in a few words: `"k": "text"`, `"k": ["a"]`, `"k": ["x": 1]`.
enum P: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  case value(Property)

  init(stringLiteral value: String) { self = .value(Property(.string(value))) }
  init(integerLiteral value: Int64) { self = .value(Property(.integer(value))) }
  init(booleanLiteral value: Bool) { self = .value(Property(.boolean(value))) }
  init(floatLiteral value: Double) { self = .value(Property(.real(value))) }
  init(arrayLiteral elements: P...) { self = .value(Property(.array(elements.map(\.property)))) }
  init(dictionaryLiteral elements: (String, P)...) {
    self = .value(Property(.dictionary(elements.map { Property.Entry($0.0, $0.1.property) })))
  }

  var property: Property {
    switch self {
    case .value(let property): property
    }
  }

  /// With further keys.
  func with(_ more: KeyValuePairs<String, P>) -> P {
    .value(Property(.dictionary((property.entries ?? []) + more.map { Property.Entry($0.key, $0.value.property) })))
  }

  func without(_ key: String) -> P { .value(Property(.dictionary((property.entries ?? []).filter { $0.key != key }))) }
}

/// A profile of one VPN payload, whose dictionary named after the type is `vpn`.
func profile(_ vpn: P, type: String = "VPN", payload: KeyValuePairs<String, P> = [:]) -> P {
  profile(payloads: [vpnPayload(vpn, type: type, payload: payload)])
}

func vpnPayload(_ vpn: P, type: String = "VPN", payload: KeyValuePairs<String, P> = [:]) -> P {
  let base: P = ["PayloadType": "com.apple.vpn.managed", "PayloadVersion": 1, "UserDefinedName": "Corp", "VPNType": P(stringLiteral: type)]
  return base.with(payload).with([type: vpn])
}

func profile(payloads: [P], root: KeyValuePairs<String, P> = [:]) -> P {
  let base: P = ["PayloadType": "Configuration", "PayloadVersion": 1]
  return base.with(["PayloadContent": .value(Property(.array(payloads.map(\.property))))]).with(root)
}

func on(_ rules: P) -> P { ["OnDemandEnabled": 1, "OnDemandRules": rules] }

func importing(_ profile: P, _ options: ImportOptions = ImportOptions()) throws -> ImportResult {
  try importProfile(Array(xmlText(profile.property).utf8), file: "x.mobileconfig", options: options)
}

func options(apps: [String]) -> ImportOptions {
  var options = ImportOptions()
  options.apps = apps.compactMap { App($0) }
  return options
}

extension ImportResult {
  /// The policies that the agent would read; every problem of them is one of the test.
  func policies(_ place: Testing.SourceLocation = #_sourceLocation) -> PolicySet {
    let loaded = load(files)
    for diagnostic in loaded.diagnostics where diagnostic.severity == .error {
      Issue.record("\(diagnostic.rendered())", sourceLocation: place)
    }
    return loaded.policies
  }

  func tunnel(_ place: Testing.SourceLocation = #_sourceLocation) throws -> TunnelPolicy {
    try #require(policies(place).tunnels.first, "\(report.text)", sourceLocation: place)
  }

  /// All that people see, and the policies.
  var shownText: String {
    report.text + "\(report)" + files.filter { !$0.isSecret }.map { String(decoding: $0.bytes, as: UTF8.self) }.joined()
  }

  func says(_ weight: ImportReport.Weight, _ words: String) -> Bool {
    report.entries.contains { $0.weight == weight && ($0.key + " " + $0.text).contains(words) }
  }
}

func load(_ files: [OutputFile]) -> LoadedPolicies {
  loadPolicies(
    layers: ["/p"],
    files: PolicyFileSystem(
      names: { _ in files.map(\.name) },
      status: { path throws(FileFailure) in
        if path == "/p" { return .init(kind: .folder, mode: 0o755) }
        guard let file = files.first(where: { "/p/\($0.name)" == path }) else { throw FileFailure("missing", isMissing: true) }
        return .init(kind: .regular, mode: file.isSecret ? 0o600 : 0o644)
      },
      read: { path, limit throws(FileFailure) in
        guard let file = files.first(where: { "/p/\($0.name)" == path }) else { throw FileFailure("missing", isMissing: true) }
        return (Array(file.bytes.prefix(limit)), .init(kind: .regular, mode: file.isSecret ? 0o600 : 0o644))
      },
      workingDirectory: { "/" }), requireRootOwnership: true)
}

enum Samples {
  static let privateKey = "YAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk="
  static let presharedKey = "FpCyhws9cxwWoV4xELtfJvjJN+zQVRPISllRWgeopVE="
  static let peerKey = "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg="

  static let wireGuard = """
    [Interface]
    PrivateKey = \(privateKey)
    Address = 10.77.3.2/32
    DNS = 10.77.0.1
    PostUp = /usr/bin/logger started

    [Peer]
    PublicKey = \(peerKey)
    PresharedKey = \(presharedKey)
    AllowedIPs = 10.77.0.0/16
    Endpoint = vpn.corp.example:51820

    """

  static let openVPN = """
    client
    dev tun
    remote vpn.corp.example 1194 udp
    up /etc/openvpn/hook
    script-security 2
    <ca>
    -----BEGIN CERTIFICATE-----
    -----END CERTIFICATE-----
    </ca>
    <key>
    not-a-real-secret-2
    </key>

    """

  static let nmWireGuard = """
    [connection]
    id=Corp
    uuid=00000000-0000-4000-8000-000000000003
    type=wireguard
    interface-name=wg0
    autoconnect=false

    [wireguard]
    private-key=\(privateKey)
    listen-port=51820

    [wireguard-peer.\(peerKey)]
    endpoint=vpn.corp.example:51820
    preshared-key=\(presharedKey)
    preshared-key-flags=0
    allowed-ips=10.77.0.0/16;fd77::/48;
    persistent-keepalive=25

    [ipv4]
    address1=10.77.3.2/32
    dns=10.77.0.1;
    dns-search=corp.example;
    method=manual

    """

  static let nmPlugin = """
    [connection]
    id=Corp
    uuid=00000000-0000-4000-8000-000000000004
    type=vpn

    [vpn]
    service-type=org.freedesktop.NetworkManager.openvpn
    remote=vpn.corp.example

    [vpn-secrets]
    password=not-a-real-secret-3

    """
}
