import CSystemd
import Glibc
import NetworkTypes
import TestSupport

@testable import LinuxIO

/// What stands for systemd-resolved on a private bus where it has to misbehave on demand: keeps what it is told of one link, answers not at all, or
/// refuses.
final class ResolverDouble {
  private var bus: OpaquePointer?
  private var reading: EventSource?
  /// Of org.freedesktop.resolve1.Manager, in the order in which they came.
  private(set) var calls: [String] = []
  var isDeaf = false
  /// The error's name; `nil`: it obeys.
  var refusal: String?
  /// Links that claim every name.
  var rivals: [Int32] = []
  private var servers: [BusValue] = []
  private var domains: [BusValue] = []
  private var isDefaultRoute = false

  init(on address: String, loop: EventLoop) throws {
    guard sd_bus_new(&bus) >= 0, sd_bus_set_address(bus, address) >= 0, sd_bus_set_bus_client(bus, 1) >= 0, sd_bus_start(bus) >= 0,
      sd_bus_request_name(bus, "org.freedesktop.resolve1", 0) >= 0
    else { throw SystemError(code: EIO, operation: "own a name on the private bus") }
    sd_bus_add_filter(
      bus, nil,
      { message, context, _ in
        guard let message, let context else { return 0 }
        return Unmanaged<ResolverDouble>.fromOpaque(context).takeUnretainedValue().take(message)
      }, Unmanaged.passUnretained(self).toOpaque())
    reading = try loop.whenReadable(sd_bus_get_fd(bus)) { [weak self] in self?.process() }
    process()
  }

  deinit { sd_bus_flush_close_unref(bus) }

  private func process() { while sd_bus_process(bus, nil) > 0 {} }

  private func take(_ message: OpaquePointer) -> Int32 {
    guard sd_bus_message_is_method_call(message, nil, nil) > 0 else { return 0 }
    let member = String(cString: sd_bus_message_get_member(message))
    let isManagers = String(cString: sd_bus_message_get_interface(message)).hasSuffix(".Manager")
    if isManagers { calls.append(member) }
    if isDeaf { return 1 }
    if isManagers, let refusal {
      var error = sd_bus_error()
      sd_bus_error_set(&error, refusal, "Link is managed.")
      sd_bus_reply_method_error(message, &error)
      sd_bus_error_free(&error)
      return 1
    }
    obey(member, BusMessageReader(message).values())
    var reply: OpaquePointer?
    sd_bus_message_new_method_return(message, &reply)
    if let reply {
      switch member {
      case "Get":
        let others = rivals.map { BusArgument.structure([.int32($0), .string("."), .bool(true)]) }
        variant("a(isb)", .array(of: "(isb)", others), to: reply)
      case "GetAll": properties(to: reply)
      default: break
      }
    }
    sd_bus_send(bus, reply, nil)
    sd_bus_message_unref(reply)
    return 1
  }

  private func obey(_ member: String, _ arguments: [BusValue]) {
    switch member {
    case "SetLinkDNS": servers = arguments[1].list ?? []
    case "SetLinkDomains": domains = arguments[1].list ?? []
    case "SetLinkDefaultRoute": isDefaultRoute = arguments[1].bool ?? false
    case "RevertLink": (servers, domains, isDefaultRoute) = ([], [], false)
    default: break
    }
  }

  private func properties(to reply: OpaquePointer) {
    let servers = servers.map {
      BusArgument.structure([.int32(Int32($0[0]?.unsigned ?? 0)), .bytes($0[1]?.bytes ?? [])])
    }
    let domains = domains.map { BusArgument.structure([.string($0[0]?.text ?? ""), .bool($0[1]?.bool ?? false)]) }
    sd_bus_message_open_container(reply, 97, "{sv}")
    property("DNS", "a(iay)", .array(of: "(iay)", servers), to: reply)
    property("Domains", "a(sb)", .array(of: "(sb)", domains), to: reply)
    property("DefaultRoute", "b", .bool(isDefaultRoute), to: reply)
    sd_bus_message_close_container(reply)
  }

  private func property(_ name: String, _ signature: String, _ value: BusArgument, to reply: OpaquePointer) {
    sd_bus_message_open_container(reply, 101, "sv")
    _ = BusArgument.string(name).append(to: reply)
    variant(signature, value, to: reply)
    sd_bus_message_close_container(reply)
  }

  private func variant(_ signature: String, _ value: BusArgument, to reply: OpaquePointer) {
    sd_bus_message_open_container(reply, 118, signature)
    _ = value.append(to: reply)
    sd_bus_message_close_container(reply)
  }
}
