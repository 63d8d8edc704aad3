internal import KernelModel
internal import KernelNetwork
internal import NetworkTypes

/// Reads which links are radios, and the medium of each link.
struct RadioReader {
  let wifi: WiFiReader
  private var attachments: [DeviceIdentity: DeviceAttachment] = [:]

  init(wifi: WiFiReader) { self.wifi = wifi }

  mutating func read(_ links: [Link], details: Bool) -> (wifi: [InterfaceIndex: WiFiFacts], mediums: [InterfaceIndex: Medium]) {
    let radios = wifi.read(links: links, details: details)
    var facts: [DeviceIdentity: DeviceAttachment] = [:]
    let mediums = KernelNetwork.mediums(of: links, radios: Set(radios.keys)) { [attachments] link in
      // The attachment of a device does not change. A veth end has none, and there may be thousands.
      let known = attachments[link.device] ?? (link.kind == "veth" ? DeviceAttachment() : DeviceAttachment(of: link))
      facts[link.device] = known
      return known
    }
    attachments = facts
    return (radios, mediums)
  }
}
