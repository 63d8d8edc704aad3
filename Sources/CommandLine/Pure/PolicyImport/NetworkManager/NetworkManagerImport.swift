import PolicySource
import RoamwardCore

/// Reads a connection of NetworkManager. Type wireguard becomes a tunnel of Roamward. Type vpn stays a connection that NetworkManager
/// brings up.
package func importNetworkManager(_ bytes: [UInt8], file: String, options: ImportOptions) throws(ImportFailure) -> ImportResult {
  guard !bytes.contains(0) else { throw ImportFailure("this is no text") }
  var keys = try Keyfile(bytes)
  var result = ImportResult(report: ImportReport(file: file))
  guard let type = keys.take("connection", "type") else {
    throw ImportFailure("this is no connection: `type` is missing in [connection]")
  }
  result.report.changed(type.place, "the provider of the policy")
  let id = keys.take("connection", "id")
  var tunnel = ImportedTunnel(
    name: options.name ?? id.flatMap { tunnelName(from: $0.value) } ?? tunnelName(from: baseName(of: file)) ?? "vpn",
    avoiding: options.taken)
  if let id {
    tunnel.about = id.value
    result.report.changed(id.place, "tunnel `\(tunnel.name)`")
  }
  switch type.value {
  case "wireguard": readWireGuard(&keys, &tunnel, &result.report)
  case "vpn": try readPlugin(&keys, &tunnel, file: file, &result.report)
  default:
    throw ImportFailure(
      "a connection of type `\(shownValue(type.value))` is no tunnel that can be imported", help: "wireguard and vpn can be",
      line: type.line)
  }
  for entry in keys.entries {
    let isAutomatic = entry.group == "connection" && entry.key.hasPrefix("autoconnect")
    let isSecret = isSecretKey(entry.key) || entry.group.hasSuffix("secrets")
    result.report.dropped(
      entry.place,
      isAutomatic
        ? "when the tunnel is wanted is for rules to say"
        : isSecret ? "a secret without a use here; it stays in NetworkManager's own file" : "not a key that this importer takes over",
      weight: isAutomatic ? .plain : .warning)
  }
  tunnel.addMissingRules(options.rules, for: "a connection", &result.report)
  result.add(tunnel, source: file, apps: options.apps, beside: options.beside)
  return result
}

/// NetworkManager keeps the connection and its secrets; the policy requests its activation.
private func readPlugin(
  _ keys: inout Keyfile, _ tunnel: inout ImportedTunnel, file: String, _ report: inout ImportReport
) throws(ImportFailure) {
  let connection = try connectionName(&keys, tunnel, file: file, &report)
  tunnel.provider = .profile(connection)
  if !["/etc", "/run", "/usr/lib"].contains(where: { file.hasPrefix("\($0)/NetworkManager/system-connections/") }) {
    tunnel.obstacles.append("NetworkManager has to know the connection first: put the file into /etc/NetworkManager/system-connections")
  }
  report.record("NetworkManager goes on to build the tunnel, and sets its routes and name servers; the agent starts, watches and stops it")
  for entry in keys.entries where ["vpn", "vpn-secrets", "ipv4", "ipv6", "proxy"].contains(entry.group) {
    _ = keys.take(entry.group, entry.key)
    report.changed(entry.place, "stays in NetworkManager's own file")
  }
}

/// The name of the connection for NetworkManager: its UUID or, if the keyfile has none, its id. The default id is the file's name.
private func connectionName(
  _ keys: inout Keyfile, _ tunnel: ImportedTunnel, file: String, _ report: inout ImportReport
) throws(ImportFailure) -> String {
  guard let uuid = keys.take("connection", "uuid") else {
    let id = tunnel.about ?? baseName(of: file)
    report.record(
      "there is no uuid: NetworkManager is asked for the connection by its id, which no other connection may have", weight: .warning)
    return id
  }
  guard uuid.value.utf8.count == 36,
    uuid.value.utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0 | 0x20) || $0 == UInt8(ascii: "-") })
  else {
    throw ImportFailure(
      "`uuid` in [connection] is no UUID", help: "remove the line, and NetworkManager goes by the id; or correct it", line: uuid.line)
  }
  report.changed(uuid.place, "NetworkManager is asked for the connection by it")
  return uuid.value
}

private func readWireGuard(_ keys: inout Keyfile, _ tunnel: inout ImportedTunnel, _ report: inout ImportReport) {
  var lines = ["[Interface]"]
  func take(_ group: String, _ key: String, as name: String, _ text: String = "", _ convert: (String) -> String? = { $0 }) -> String? {
    guard let entry = keys.take(group, key) else { return nil }
    guard let value = convert(entry.value) else {
      report.dropped(entry.place, "nothing of it can be used", weight: .warning)
      return nil
    }
    report.changed(entry.place, "\(name) in \(tunnel.name).conf\(text)")
    return "\(name) = \(value)"
  }
  var names = KeyfileNames()
  let secret = ", for root alone"
  let list: (String) -> String? = { value in keyfileList(value).joined(separator: ", ") }
  /// 0 means the system's default in both formats.
  let number: (String) -> String? = { $0 == "0" ? nil : $0 }
  if let line = take("wireguard", "private-key", as: "PrivateKey", secret) {
    lines.append(line)
  } else {
    report.record(
      "the private key is not in the file (NetworkManager keeps it elsewhere): ask for it with `nmcli --show-secrets`", weight: .error)
  }
  lines += [take("wireguard", "listen-port", as: "ListenPort", "", number), take("wireguard", "mtu", as: "MTU", "", number)].compactMap {
    $0
  }
  for group in ["ipv4", "ipv6"] {
    for key in ["address"] + (1...64).map({ "address\($0)" }) + ["addresses"] {
      // Without the gateway at the end, which a tunnel does not need.
      if let line = take(group, key, as: "Address", "", { keyfileList($0).first }) { lines.append(line) }
    }
    if let line = take(group, "dns", as: "DNS", "", list) { lines.append(line) }
    if let method = keys.take(group, "method") { report.taken(method.place) }
    if let search = keys.take(group, "dns-search") { names.add(search, &report) }
    if let never = keys.take(group, "never-default") {
      names.isNeverDefault = names.isNeverDefault || ["true", "1", "yes"].contains(never.value)
      report.dropped(never.place, "routes follow from the peers' allowed addresses", weight: .warning)
    }
  }
  lines += names.searchLines
  if let routes = keys.take("wireguard", "peer-routes") {
    if routes.value == "false" || routes.value == "0" { lines.append("Table = off") }
    report.changed(routes.place, "Table in \(tunnel.name).conf")
  }
  for group in keys.groups where group.hasPrefix("wireguard-peer.") {
    let key = String(group.dropFirst("wireguard-peer.".count))
    lines += ["", "[Peer]", "PublicKey = \(key)"]
    lines += [
      take(group, "preshared-key", as: "PresharedKey", secret), take(group, "endpoint", as: "Endpoint"),
      take(group, "allowed-ips", as: "AllowedIPs", "", list), take(group, "persistent-keepalive", as: "PersistentKeepalive", "", number),
    ].compactMap { $0 }
    if let flags = keys.take(group, "preshared-key-flags") { report.taken(flags.place) }
  }
  if let flags = keys.take("wireguard", "private-key-flags") { report.taken(flags.place) }
  for name in ["uuid", "interface-name"] {
    if let entry = keys.take("connection", name) { report.dropped(entry.place, "NetworkManager's own; Roamward names its links itself") }
  }
  let text = lines.map { $0 + "\n" }.joined()
  var checks = ImportReport(file: report.file)
  let copy = copyWireGuardQuick(Array(text.utf8), at: KeyPath(text: "", line: nil), &checks)
  for entry in checks.entries where entry.outcome == .note { report.record(entry.text, weight: entry.weight) }
  tunnel.useWireGuard(copy)
  tunnel.dns = names.policy(servers: readWireGuardQuick(Array(text.utf8), file: report.file).configuration?.dnsServers ?? [], &report)
}
