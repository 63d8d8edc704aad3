package import KernelModel
package import NetworkTypes
import Wire

/// Reads from nl80211 the radio links and their networks.
package struct WiFiReader: Sendable {
  private let socket: NetlinkSocket

  package init() throws(NetlinkError) { socket = try NetlinkSocket(.generic) }

  /// The facts by link index; a known value is `nil` for a radio that is on no network, or that offers one. If nl80211 exists and does not
  /// answer, the facts of any of `links` that may be a radio are unknown. Empty if the kernel has no Wi-Fi. `details`: also the access
  /// point and its security, which requires a query for every network that the radio has received.
  package func read(links: [Link] = [], details: Bool = true) -> [InterfaceIndex: WiFiFacts] {
    do throws(NetlinkError) {
      return try readInterfaces(details)
    } catch {
      let unknown = WiFiFacts(unknown: "nl80211: \(error)")
      let mayBeRadios = links.filter { $0.kind == nil && $0.hardwareType == 1 }
      return Dictionary(mayBeRadios.map { ($0.index, unknown) }) { first, _ in first }
    }
  }

  private func readInterfaces(_ details: Bool) throws(NetlinkError) -> [InterfaceIndex: WiFiFacts] {
    guard let family = try socket.resolve(family: NL80211Message.family) else { return [:] }
    let radios: [WirelessInterface]
    do throws(NetlinkError) {
      radios = try read("read Wi-Fi interfaces", WirelessInterface.init) { $0.dumpWirelessInterfaces(family: family, sequence: $1) }
    } catch {
      // Its module may have been loaded again, with another number.
      socket.forget(family: NL80211Message.family)
      throw error
    }
    var facts: [InterfaceIndex: WiFiFacts] = [:]
    for radio in radios {
      guard let index = InterfaceIndex(radio.index) else { continue }
      facts[index] = radio.isClient ? joinedNetwork(of: radio, family, details) : WiFiFacts()
    }
    return facts
  }

  /// The joined network, from the networks that the radio has received.
  private func joinedNetwork(of radio: WirelessInterface, _ family: UInt16, _ details: Bool) -> WiFiFacts {
    if let ssid = radio.ssid, !details { return WiFiFacts(ssid: .known(ssid), bssid: .notNeeded, security: .notNeeded) }
    do throws(NetlinkError) {
      let networks = try read("read Wi-Fi networks", WirelessNetwork.init) {
        $0.dumpWirelessNetworks(interface: radio.index, family: family, sequence: $1)
      }
      if let joined = networks.first(where: \.isJoined) { return WiFiFacts(joined, ssid: radio.ssid) }
      // The kernel drops a network that it has not received for long, though the radio may still be on it.
      guard let ssid = radio.ssid else { return WiFiFacts() }
      let stations = try read("read Wi-Fi stations", WirelessStation.init) {
        $0.dumpWirelessStations(interface: radio.index, family: family, sequence: $1)
      }
      let point: Fact<MACAddress?> =
        stations.count == 1 ? .known(stations[0].address) : .unknown(reason: "the kernel has forgotten the access point")
      return WiFiFacts(ssid: .known(ssid), bssid: point, security: .unknown(reason: "the kernel has forgotten the network's beacon"))
    } catch {
      return WiFiFacts(unknown: "nl80211: \(error)")
    }
  }

  /// One dump, tried up to five times.
  private func read<T>(
    _ what: String, _ decode: (NetlinkMessage) -> T?, _ encode: (inout NetlinkWriter, UInt32) -> Void
  ) throws(NetlinkError) -> [T] {
    var tries = 0
    while true {
      var found: [T] = []
      do throws(NetlinkError) {
        try socket.dump(what, encode) { if let value = decode($0) { found.append(value) } }
        return found
      } catch {
        tries += 1
        guard error.isTransient, tries < 5 else { throw error }
      }
    }
  }
}

extension WiFiFacts {
  fileprivate init(unknown reason: String) {
    self.init(ssid: .unknown(reason: reason), bssid: .unknown(reason: reason), security: .unknown(reason: reason))
  }

  fileprivate init(_ network: WirelessNetwork, ssid: SSID?) {
    self.init(
      ssid: (ssid ?? network.ssid).map { .known($0) } ?? .unknown(reason: "the Wi-Fi network hides its name"),
      bssid: network.bssid.map { .known($0) } ?? .unknown(reason: "the kernel does not name the access point"),
      security: network.security.map { .known($0) } ?? .unknown(reason: "the network uses key management that is not known here"))
  }
}
