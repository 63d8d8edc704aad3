import CSystemd
import Glibc
import LinuxIO
import NetworkTypes
import SystemdTestSupport

@testable import SystemdIO

/// A double of systemd-resolved on a private bus that misbehaves on demand: it keeps the settings of one link, answers not at all, or
/// refuses.
final class ResolverDouble {
  private var double: BusDouble?
  /// Of org.freedesktop.resolve1.Manager, in the order in which they came.
  private(set) var calls: [String] = []
  var isDeaf = false
  /// The time that its next change takes; it answers nothing meanwhile.
  var pause: Duration?
  /// The error's name; `nil`: it obeys.
  var refusal: String?
  /// Links that claim every name.
  var rivals: [Int32] = []
  private var servers: [BusValue] = []
  private var domains: [BusValue] = []
  private var isDefaultRoute = false
  /// The link's own; empty: that of the service.
  private(set) var dnssec = ""
  var dnssecOfService = "yes"

  init(on address: String, loop: EventLoop) throws {
    double = try BusDouble("org.freedesktop.resolve1", on: address, loop: loop) { [unowned self] in answer($0) }
  }

  private func answer(_ call: BusDouble.Call) -> BusDouble.Answer {
    let isManagers = call.interface.hasSuffix(".Manager")
    if isManagers { calls.append(call.member) }
    if isManagers, let pause { usleep(useconds_t(pause / .microseconds(1))) }
    if isManagers { pause = nil }
    if isDeaf { return .nothing }
    if isManagers, let refusal { return .error(name: refusal, text: "Link is managed.") }
    let arguments = BusMessageReader(call.message).values()
    obey(call.member, arguments)
    return .reply { [self] reply in
      switch call.member {
      case "Get" where arguments.last?.text == "DNSSEC":
        variant("s", .string(dnssecOfService), to: reply)
      case "Get":
        let others = rivals.map { BusArgument.structure([.int32($0), .string("."), .bool(true)]) }
        variant("a(isb)", .array(of: "(isb)", others), to: reply)
      case "GetAll": properties(to: reply)
      default: break
      }
    }
  }

  private func obey(_ member: String, _ arguments: [BusValue]) {
    switch member {
    case "SetLinkDNS": servers = arguments[1].list ?? []
    case "SetLinkDomains": domains = arguments[1].list ?? []
    case "SetLinkDefaultRoute": isDefaultRoute = arguments[1].bool ?? false
    case "SetLinkDNSSEC": dnssec = arguments[1].text ?? ""
    case "RevertLink": (servers, domains, isDefaultRoute, dnssec) = ([], [], false, "")
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
    property("DNSSEC", "s", .string(dnssec.isEmpty ? dnssecOfService : dnssec), to: reply)
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
