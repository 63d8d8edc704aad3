import KernelModel
import KeyMemory
import NetworkTypes
import RoamwardCore

/// The partly read section [Interface].
struct WireGuardInterfaceSettings {
  var privateKey: SecretKey?
  var listenPort: UInt16?
  var addresses: [InterfaceAddress] = []
  var dnsServers: [IPAddress] = []
  var searchDomains: [DomainName] = []
  var mtu: UInt32?
  var routesFromAllowedIPs = true
}

/// A partly read section [Peer].
struct WireGuardPeerSettings {
  let place: SourceLocation
  var publicKey: WireGuardKey?
  var presharedKey: SecretKey?
  var endpoint: Endpoint?
  var allowedIPs: [IPPrefix] = []
  var persistentKeepalive: UInt16 = 0
}

extension WireGuardQuickReader {
  mutating func readInterface(_ keyword: WireGuardKeyword, _ value: WireGuardQuickLine.Value, at place: SourceLocation) {
    switch keyword {
    case .privateKey: interface.privateKey = secretKey(keyword, value)
    case .listenPort: interface.listenPort = number(value, "a port from 0 to 65535").flatMap { $0 == 0 ? nil : $0 }
    case .address: interface.addresses += list(value, "an address such as 10.8.0.2/32") { InterfaceAddress($0) }
    case .dns: readDNS(value)
    case .mtu: interface.mtu = parse(value, "a number from 576 to 65535") { ValueRange.mtu($0) }
    case .table: readTable(value)
    case .fwMark:
      if !["off", "0", "0x0"].contains(value.text.lowercased()) {
        error("`FwMark` is not supported: Roamward marks its tunnels' packets itself", help: "remove the line", at: place)
      }
    case .preUp, .postUp, .preDown, .postDown:
      error(
        "`\(keyword.rawValue)` is not supported: no shell hooks are run",
        help: "remove the line, or use the provider `command` for this tunnel",
        at: place)
    case .saveConfig:
      if parse(value, "true or false", { ["true": true, "false": false][$0.lowercased()] }) == true {
        error("`SaveConfig` is not supported: Roamward never writes this file", help: "remove the line", at: place)
      }
    default: break
    }
  }

  mutating func readPeer(_ keyword: WireGuardKeyword, _ value: WireGuardQuickLine.Value, into peer: inout WireGuardPeerSettings) {
    switch keyword {
    case .publicKey: peer.publicKey = key(keyword, value)
    case .presharedKey: peer.presharedKey = secretKey(keyword, value)
    case .allowedIPs: peer.allowedIPs += list(value, "a prefix such as 10.0.0.0/8") { IPPrefix($0) }
    case .endpoint: peer.endpoint = parse(value, Self.expectedEndpoint(value.text)) { Endpoint($0) }
    case .persistentKeepalive:
      if value.text.lowercased() != "off" { peer.persistentKeepalive = number(value, "off, or seconds up to 65535") ?? 0 }
    default: break
    }
  }

  /// An endpoint that wg(8) accepts, and that is not usable here, has an explanation of its own.
  private static func expectedEndpoint(_ text: String) -> String {
    if text.utf8.contains(where: { $0 > 0x7f }) { return "the name in its ASCII form (`xn--…`, which `idn2 NAME` prints) and a port" }
    if text.contains("%") { return "an address that does not depend on a link (without `%`) and a port" }
    return "HOST:PORT, such as vpn.example.com:51820 or [2001:db8::1]:51820"
  }

  private mutating func readDNS(_ value: WireGuardQuickLine.Value) {
    for item in value.items {
      if let server = IPAddress(item.text) {
        interface.dnsServers.append(server)
      } else if item.text.hasPrefix("~") {
        error(
          "`\(item.text.prefix(80))` only chooses the name servers of its names, which a WireGuard file cannot say",
          help: "remove it here, and write `dns: { match-domains: […] }` into the policy, as `roamward import` does", at: item.place)
      } else if let domain = parse(item, "the address of a name server, or a search domain", { DomainName($0) }) {
        interface.searchDomains.append(domain)
      }
    }
  }

  private mutating func readTable(_ value: WireGuardQuickLine.Value) {
    switch value.text.lowercased() {
    case "off": interface.routesFromAllowedIPs = false
    case "auto": interface.routesFromAllowedIPs = true
    default:
      error("`Table` can only be `off` or `auto`: Roamward routes through tables of its own", help: "remove the line", at: value.place)
    }
  }

  /// Errors in a key are reported without any part of it.
  private mutating func key(_ keyword: WireGuardKeyword, _ value: WireGuardQuickLine.Value) -> WireGuardKey? {
    accept(keyword, value, WireGuardKey(base64: value.text)) { $0.bytes.allSatisfy { $0 == 0 } }
  }

  private mutating func secretKey(_ keyword: WireGuardKeyword, _ value: WireGuardQuickLine.Value) -> SecretKey? {
    accept(keyword, value, SecretKey(base64: value.text)) { keyword != .presharedKey && $0.isZero }
  }

  private mutating func accept<Key>(
    _ keyword: WireGuardKeyword, _ value: WireGuardQuickLine.Value, _ key: Key?, isNone: (Key) -> Bool
  ) -> Key? {
    guard let key else {
      error(
        "`\(keyword.rawValue)` is not a key: expected 44 characters of base64, found \(value.text.unicodeScalars.count)",
        help: "`wg genkey`, `wg pubkey` and `wg genpsk` print keys", at: value.place)
      return nil
    }
    if isNone(key) {
      error("`\(keyword.rawValue)` is all zeros, which is no key", help: "`wg genkey` makes one", at: value.place)
      return nil
    }
    return key
  }

  private mutating func number(_ value: WireGuardQuickLine.Value, _ expected: String) -> UInt16? {
    parse(value, expected) { decimal($0).flatMap { UInt16(exactly: $0) } }
  }

  private mutating func list<T>(_ value: WireGuardQuickLine.Value, _ expected: String, _ make: (String) -> T?) -> [T] {
    value.items.compactMap { parse($0, expected, make) }
  }

  private mutating func parse<T>(_ value: WireGuardQuickLine.Value, _ expected: String, _ make: (String) -> T?) -> T? {
    if let result = make(value.text) { return result }
    error("expected \(expected), found \(value.text.isEmpty ? "nothing" : quoted(redacted(value.text)))", at: value.place)
    return nil
  }
}

private enum ValueRange {
  static func mtu(_ text: String) -> UInt32? { decimal(text).flatMap { (576...65535).contains($0) ? UInt32($0) : nil } }
}
