package import NetworkTypes
package import RoamwardCore
import Wire

/// Asks nl80211 which links are radios and what networks they are on.
package struct WiFiReader: Sendable {
  private let socket: NetlinkSocket

  package init() throws(NetlinkError) { socket = try NetlinkSocket(.generic) }

  /// By link index; known and `nil` for a radio that is on no network, or that offers one. Where nl80211 is there
  /// and does not answer, the SSID of every one of `links` that may be a radio is unknown. Empty where the kernel has no Wi-Fi.
  package func read(links: [Link] = []) -> [InterfaceIndex: Fact<SSID?>] {
    do throws(NetlinkError) {
      return try readInterfaces()
    } catch {
      let reason = "nl80211: \(error)"
      let mayBeRadios = links.filter { $0.kind == nil && $0.hardwareType == 1 }
      return Dictionary(mayBeRadios.map { ($0.index, .unknown(because: reason)) }) { first, _ in first }
    }
  }

  private func readInterfaces() throws(NetlinkError) -> [InterfaceIndex: Fact<SSID?>] {
    guard let family = try socket.resolve(family: NL80211Message.family) else { return [:] }
    let radios: [WirelessInterface]
    do throws(NetlinkError) {
      radios = try read("read Wi-Fi interfaces", WirelessInterface.init) { $0.dumpWirelessInterfaces(family: family, sequence: $1) }
    } catch {
      // Perhaps its module was loaded anew, with another number.
      socket.forget(family: NL80211Message.family)
      throw error
    }
    var facts: [InterfaceIndex: Fact<SSID?>] = [:]
    for radio in radios {
      guard let index = InterfaceIndex(radio.index) else { continue }
      facts[index] = radio.isClient && radio.ssid == nil ? joinedNetwork(of: radio, family) : .known(radio.isClient ? radio.ssid : nil)
    }
    return facts
  }

  /// By the networks that the radio has heard, one of which it may be on.
  private func joinedNetwork(of radio: WirelessInterface, _ family: UInt16) -> Fact<SSID?> {
    do throws(NetlinkError) {
      let networks = try read("read Wi-Fi networks", WirelessNetwork.init) {
        $0.dumpWirelessNetworks(interface: radio.index, family: family, sequence: $1)
      }
      guard let joined = networks.first(where: \.isJoined) else { return .known(nil) }
      return joined.ssid.map { .known($0) } ?? .unknown(because: "the Wi-Fi network hides its name")
    } catch {
      return .unknown(because: "nl80211: \(error)")
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
