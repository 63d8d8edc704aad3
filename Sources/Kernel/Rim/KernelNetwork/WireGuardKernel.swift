internal import Glibc
package import KernelModel
import LinuxIO
package import NetworkTypes
import Wire

/// WireGuard devices of the kernel, by generic netlink, in the namespace in which this was created. May be used from any thread.
package struct WireGuardKernel: Sendable {
  private let generic: NetlinkSocket
  private let route: NetlinkSocket

  package init() throws(NetlinkError) {
    generic = try NetlinkSocket(.generic)
    route = try NetlinkSocket(.route)
  }

  /// Whether this kernel has WireGuard. Loads its module if possible; if the family stays unknown, creates a link and removes it.
  package func isSupported() -> Bool {
    if let family = try? generic.resolve(family: WireGuardMessage.family), family > 0 { return true }
    let name = "rw-probe\(getpid() % 1_000_000)"
    do throws(NetlinkError) {
      try route.request("try a WireGuard link") { $0.addLink(named: name, kind: "wireguard", sequence: $1, flags: $2) }
      if let link = try route.readLinks().first(where: { $0.name == name }) {
        try route.request("remove the tried link") { $0.deleteLink(link.index.value, sequence: $1, flags: $2) }
      }
      return true
    } catch {
      return false
    }
  }

  /// Whether this kernel seems to have WireGuard, without creating a link: the family exists, or a module of that name.
  package func isLikely() -> Bool {
    if let family = try? generic.resolve(family: WireGuardMessage.family), family > 0 { return true }
    var system = utsname()
    uname(&system)
    let release = withUnsafeBytes(of: &system.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    let modules = "/lib/modules/\(release)"
    return ["modules.dep", "modules.builtin"].contains { list in
      let text = (try? TextFile.read("\(modules)/\(list)", limit: 8 << 20)) ?? []
      return String(decoding: text, as: UTF8.self).contains("/wireguard.ko")
    }
  }

  /// The present state of the device; `nil` if there is no such link, or it is no WireGuard link of the kernel.
  package func read(_ link: String) throws(NetlinkError) -> WireGuardState? {
    guard let family = try generic.resolve(family: WireGuardMessage.family) else { return nil }
    var lastError: NetlinkError?
    for _ in 1...5 {
      var reader = WireGuardStateReader()
      do throws(NetlinkError) {
        try generic.dump("wg show \(link)", { $0.dumpWireGuard(link: link, family: family, sequence: $1) }) { reader.read($0) }
        return reader.state
      } catch {
        if error.code == ENODEV || error.code == EOPNOTSUPP { return nil }
        lastError = error
        guard error.isTransient else { break }
      }
    }
    generic.forget(family: WireGuardMessage.family)
    throw lastError ?? NetlinkError(code: EIO, what: "wg show \(link)")
  }

  /// Changes the device as `wg syncconf` would: sessions of remaining peers continue, and keep roamed endpoints unless `settingEndpoints`.
  /// Returns false if nothing had to be changed.
  @discardableResult
  package func configure(link: String, _ device: WireGuardDevice, settingEndpoints: Bool = false) throws(NetlinkError) -> Bool {
    let change = WireGuardChange(from: try read(link), to: device, settingEndpoints: settingEndpoints)
    if change.isEmpty { return false }
    try send(change, to: link, "wg syncconf \(link)")
    return true
  }

  /// Changes only what differs between a state, which may be a part of the device's, and a configuration of the same part.
  package func change(link: String, from state: WireGuardState, to device: WireGuardDevice) throws(NetlinkError) {
    let change = WireGuardChange(from: state, to: device)
    if !change.isEmpty { try send(change, to: link, "wg set \(link)") }
  }

  /// Configures the device from nothing: every peer is created again, with the given endpoint, and begins a new session.
  package func configureAnew(link: String, _ device: WireGuardDevice) throws(NetlinkError) {
    try send(WireGuardChange(from: nil, to: device), to: link, "wg setconf \(link)")
  }

  /// Sets the endpoints of existing peers.
  package func setEndpoints(_ endpoints: [WireGuardKey: Endpoint], link: String) throws(NetlinkError) {
    let peers = endpoints.map { key, endpoint in
      var peer = WireGuardChange.Peer(updating: key)
      peer.endpoint = endpoint
      return peer
    }
    try send(WireGuardChange(peers: peers), to: link, "wg set \(link) endpoints")
  }

  /// Makes the kernel send to the peers now, and so begin a handshake if one is due: a keepalive is sent whenever the interval rises from
  /// zero. The interval is then `keepaliveSeconds`; 0 is off.
  package func poke(link: String, peers: [WireGuardKey], keepaliveSeconds: UInt16) throws(NetlinkError) {
    let intervals = keepaliveSeconds == 0 ? [0, 1, 0] : [0, keepaliveSeconds]
    for seconds in intervals {
      let changes = peers.map { key in
        var peer = WireGuardChange.Peer(updating: key)
        peer.persistentKeepalive = seconds
        return peer
      }
      try send(WireGuardChange(peers: changes), to: link, "wg set \(link) persistent-keepalive \(seconds)")
    }
  }

  private func send(_ change: WireGuardChange, to link: String, _ what: String) throws(NetlinkError) {
    guard let family = try generic.resolve(family: WireGuardMessage.family) else {
      throw NetlinkError(code: EOPNOTSUPP, what: what, kernelText: "this kernel has no WireGuard")
    }
    for part in change.split() {
      try generic.request(what) { $0.setWireGuard(link: link, part, family: family, sequence: $1, flags: $2) }
    }
  }
}

extension WireGuardChange.Peer {
  fileprivate init(updating key: WireGuardKey) {
    self.init(publicKey: key)
    onlyIfPresent = true
  }
}
