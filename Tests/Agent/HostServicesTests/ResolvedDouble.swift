internal import CSystemd
import Glibc
import LinuxIO
import NetworkTypes
import SystemdIO
import SystemdTestSupport

/// A double of systemd-resolved on a private bus: answers every call of its name with `DNS` and `Domains` for one link, or not at all.
final class ResolvedDouble {
  private var double: BusDouble?
  private var bus: OpaquePointer? { double?.bus }
  var servers: [[UInt8]]
  var domain: String
  var isDeaf = false
  private(set) var calls = 0

  init(on address: String, loop: EventLoop, servers: [[UInt8]], domain: String) throws {
    self.servers = servers
    self.domain = domain
    double = try BusDouble("org.freedesktop.resolve1", on: address, loop: loop) { [unowned self] _ in answer }
  }

  /// Tells that `DNS` has changed, as systemd-resolved does.
  func announce() {
    var signal: OpaquePointer?
    sd_bus_message_new_signal(bus, &signal, "/org/freedesktop/resolve1", "org.freedesktop.DBus.Properties", "PropertiesChanged")
    append(signal, "s", "org.freedesktop.resolve1.Manager")
    sd_bus_message_open_container(signal, CChar(bitPattern: UInt8(ascii: "a")), "{sv}")
    sd_bus_message_close_container(signal)
    sd_bus_message_open_container(signal, CChar(bitPattern: UInt8(ascii: "a")), "s")
    sd_bus_message_close_container(signal)
    sd_bus_send(bus, signal, nil)
    sd_bus_message_unref(signal)
    sd_bus_flush(bus)
  }

  private var answer: BusDouble.Answer {
    calls += 1
    if isDeaf { return .nothing }
    return .reply { [self] reply in fill(reply) }
  }

  private func fill(_ reply: OpaquePointer) {
    inside(reply, "a", "{sv}") {
      property(reply, "DNS", "a(iiay)") {
        for server in servers {
          inside(reply, "r", "iiay") {
            integer(reply, 2)
            integer(reply, server.count == 4 ? 2 : 10)
            _ = server.withUnsafeBytes {
              sd_bus_message_append_array(reply, CChar(bitPattern: UInt8(ascii: "y")), $0.baseAddress, $0.count)
            }
          }
        }
      }
      property(reply, "Domains", "a(isb)") {
        inside(reply, "r", "isb") {
          integer(reply, 2)
          append(reply, "s", domain)
          var isRouting: Int32 = 0
          sd_bus_message_append_basic(reply, CChar(bitPattern: UInt8(ascii: "b")), &isRouting)
        }
      }
    }
  }

  private func property(_ message: OpaquePointer?, _ name: String, _ type: String, _ body: () -> Void) {
    inside(message, "e", "sv") {
      append(message, "s", name)
      inside(message, "v", type) { inside(message, "a", String(type.dropFirst()), body) }
    }
  }

  private func inside(_ message: OpaquePointer?, _ type: Character, _ contents: String, _ body: () -> Void) {
    sd_bus_message_open_container(message, CChar(bitPattern: type.asciiValue ?? 0), contents)
    body()
    sd_bus_message_close_container(message)
  }

  private func integer(_ message: OpaquePointer?, _ value: Int32) {
    var value = value
    sd_bus_message_append_basic(message, CChar(bitPattern: UInt8(ascii: "i")), &value)
  }

  private func append(_ message: OpaquePointer?, _ type: Character, _ text: String) {
    sd_bus_message_append_basic(message, CChar(bitPattern: type.asciiValue ?? 0), text)
  }
}
