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
      return Dictionary(links.lazy.filter { $0.kind == nil && $0.hardwareType == 1 }.map { ($0.index, .unknown(because: reason)) }) { first, _ in first }
    }
  }

  private func readInterfaces() throws(NetlinkError) -> [InterfaceIndex: Fact<SSID?>] {
    guard let family = try socket.resolve(family: NL80211Message.family) else { return [:] }
    var facts: [InterfaceIndex: Fact<SSID?>] = [:]
    var lastError: NetlinkError?
    for _ in 1...3 {
      facts = [:]
      do throws(NetlinkError) {
        try socket.dump("read Wi-Fi interfaces", { $0.dumpWirelessInterfaces(family: family, sequence: $1) }) { message in
          guard let radio = WirelessInterface(message), let index = InterfaceIndex(radio.index) else { return }
          facts[index] = .known(radio.isClient ? radio.ssid : nil)
        }
        return facts
      } catch {
        lastError = error
        guard error.isTransient else { break }
      }
    }
    socket.forget(family: NL80211Message.family)
    throw lastError ?? NetlinkError(code: 5, what: "read Wi-Fi interfaces")
  }
}
