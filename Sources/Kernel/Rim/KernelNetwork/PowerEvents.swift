/// The kernel's announcements about power supplies (uevents): mains that come and go, batteries that discharge.
package final class PowerEvents {
  private let socket: NetlinkSocket

  /// Multicast group 1 is the kernel's own; 2 is udev's.
  package init() throws(NetlinkError) {
    socket = try NetlinkSocket(.uevent, receiveBuffer: 1 << 20)
    try socket.join(group: 1)
  }

  /// The descriptor to watch for readability; then call `drain`.
  package var descriptor: Int32 { socket.descriptor }

  /// Whether an announcement is about a power supply, or one was lost.
  package func drain() -> Bool {
    var isAboutPower = false
    for _ in 0..<8192 {
      do throws(NetlinkError) {
        guard let event = try socket.receive() else { break }
        if Self.isAboutPower(event) { isAboutPower = true }
      } catch {
        return true
      }
    }
    return isAboutPower
  }

  /// `change@/devices/…`, then `NAME=value` texts, each followed by a NUL.
  package static func isAboutPower(_ event: [UInt8]) -> Bool {
    event.split(separator: 0).contains { $0.elementsEqual("SUBSYSTEM=power_supply".utf8) }
  }
}
