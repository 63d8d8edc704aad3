import KernelModel
import KeyMemory
import NetworkTypes
import PolicyFiles
package import RoamwardCore

/// Reads a wg-quick(8) file. `nil` if there are errors. All errors are among the diagnostics, which never contain a key.
///
/// - Parameter mode: the file's permission bits; a file that everyone may read gets a warning. `nil`: not checked.
package func readWireGuardQuick(
  _ bytes: [UInt8], file: String, mode: UInt32? = nil
) -> (configuration: WireGuardQuickConfiguration?, diagnostics: [Diagnostic]) {
  let source = SourceText(file: file, bytes: bytes, masking: redactedWireGuardLine)
  var reader = WireGuardQuickReader(source: source)
  reader.problems.append(contentsOf: textProblems(source))
  guard !reader.problems.hasErrors else { return (nil, reader.problems.sorted) }
  for line in WireGuardQuickLine.lines(of: source) { reader.read(line) }
  reader.finishPeer()
  if let mode, mode & 0o007 != 0 {
    reader.problems.append(contentsOf: [
      Diagnostic(.warning, "everyone can read this file, which holds a private key", help: "chmod 600 \(shellWord(file))", at: source.start)
    ])
  }
  let configuration = reader.configuration()
  return (reader.problems.hasErrors ? nil : configuration, reader.problems.sorted)
}

struct WireGuardQuickReader {
  private enum Section { case none, interface, peer, unknown }

  let source: SourceText
  var problems = DiagnosticList()
  var interface = WireGuardInterfaceSettings()
  var peer: WireGuardPeerSettings?
  var peers: [WireGuardPeer] = []
  private var section = Section.none
  private var interfacePlace: SourceLocation?
  private var given: [WireGuardKeyword: SourceLocation] = [:]
  private var peerKeys: [WireGuardKey: SourceLocation] = [:]
  private var prefixOwners: [IPPrefix: WireGuardKey] = [:]

  init(source: SourceText) { self.source = source }

  mutating func read(_ line: WireGuardQuickLine) {
    switch line.content {
    case .section(let name): begin(name, at: line.place)
    case .setting(let key, let value): read(key, value, at: line.place)
    case .nonsense: error("this is neither a section nor `Key = Value`", help: "comments begin with `#`", at: line.place)
    }
  }

  mutating func configuration() -> WireGuardQuickConfiguration? {
    let place = interfacePlace ?? source.start
    if interfacePlace == nil {
      error("the section [Interface] is missing", help: "begin the file with `[Interface]` and `PrivateKey = …`", at: place)
    } else if given[.privateKey] == nil {
      error("`PrivateKey` is missing in [Interface]", help: "add the key that `wg genkey` makes", at: place)
    }
    guard let privateKey = interface.privateKey, let publicKey = privateKey.publicKey else { return nil }
    if let own = peerKeys[publicKey] {
      error("the peer's key is that of this interface itself", help: "use the public key of the other side", at: own)
    }
    if peers.isEmpty, !problems.hasErrors {
      warning("there is no peer, so nothing can be reached", help: "add a section [Peer]", at: place)
    }
    return WireGuardQuickConfiguration(
      privateKey: privateKey, publicKey: publicKey, listenPort: interface.listenPort, addresses: interface.addresses,
      dnsServers: interface.dnsServers, searchDomains: interface.searchDomains, mtu: interface.mtu,
      routesFromAllowedIPs: interface.routesFromAllowedIPs, peers: peers)
  }

  mutating func finishPeer() {
    guard let finished = peer else { return }
    peer = nil
    guard given[.publicKey] != nil else {
      error("`PublicKey` is missing in this [Peer]", help: "add the public key of the other side", at: finished.place)
      return
    }
    guard let key = finished.publicKey else { return }
    if let first = peerKeys[key] {
      error(
        "this peer is given twice; the first is at \(first)", help: "put all that is said of a peer into one section", at: finished.place)
      return
    }
    peerKeys[key] = finished.place
    for prefix in finished.allowedIPs {
      guard let owner = prefixOwners.updateValue(key, forKey: prefix), owner != key else { continue }
      warning("\(prefix) belongs to an earlier peer too, and goes to this one", help: "give each prefix to one peer", at: finished.place)
    }
    peers.append(
      WireGuardPeer(
        publicKey: key, presharedKey: finished.presharedKey, endpoint: finished.endpoint, allowedIPs: finished.allowedIPs,
        persistentKeepalive: finished.persistentKeepalive))
  }

  private mutating func begin(_ name: String, at place: SourceLocation) {
    finishPeer()
    switch name {
    case "interface":
      if let first = interfacePlace {
        error("[Interface] is given twice; the first is at \(first)", help: "put everything into one section", at: place)
      } else {
        given = [:]
        interfacePlace = place
      }
      section = .interface
    case "peer":
      given = given.filter { WireGuardKeyword.interface.contains($0.key) }
      peer = WireGuardPeerSettings(place: place)
      section = .peer
    default:
      error("a section is [Interface] or [Peer]", at: place)
      section = .unknown
    }
  }

  private mutating func read(_ key: String, _ value: WireGuardQuickLine.Value, at place: SourceLocation) {
    if section == .unknown { return }
    guard section != .none else {
      error("this stands before the first section", help: "begin with `[Interface]`", at: place)
      return
    }
    let allowed = section == .interface ? WireGuardKeyword.interface : WireGuardKeyword.peer
    let title = section == .interface ? "[Interface]" : "[Peer]"
    guard let keyword = WireGuardKeyword(ignoringCase: key) else {
      // The word itself is not shown: it may be a key without its name.
      error(
        "unknown key in \(title)",
        help: nearest(to: key, among: allowed.map(\.rawValue)).map { "did you mean `\($0)`?" }
          ?? "known keys: \(allowed.map(\.rawValue).joined(separator: ", "))", at: place)
      return
    }
    guard allowed.contains(keyword) else {
      let other = section == .interface ? "[Peer]" : "[Interface]"
      error("`\(keyword.rawValue)` does not belong in \(title)", help: "move it to \(other)", at: place)
      return
    }
    let isRepeatable = [.address, .dns, .allowedIPs, .preUp, .postUp, .preDown, .postDown].contains(keyword)
    if !isRepeatable, let first = given[keyword] {
      error("`\(keyword.rawValue)` is given twice; the first is at \(first)", help: "keep one of the two", at: place)
      return
    }
    given[keyword] = place
    if section == .interface {
      readInterface(keyword, value, at: place)
    } else if var settings = peer {
      readPeer(keyword, value, into: &settings)
      peer = settings
    }
  }
}

extension WireGuardQuickReader {
  mutating func error(_ message: @autoclosure () -> String, help: @autoclosure () -> String? = nil, at place: SourceLocation) {
    problems.add(.error, message(), help: help(), at: place, in: source)
  }

  mutating func warning(_ message: @autoclosure () -> String, help: @autoclosure () -> String? = nil, at place: SourceLocation) {
    problems.add(.warning, message(), help: help(), at: place, in: source)
  }
}

extension WireGuardQuickConfiguration {
  /// Whether this side can begin: a peer has an endpoint.
  package var hasEndpoint: Bool { peers.contains { $0.endpoint != nil } }
}
