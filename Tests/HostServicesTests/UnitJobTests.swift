import CSystemd
import Glibc
import HostServices
import LinuxIO
import NetworkTypes
import TestSupport
import Testing

@Suite("The unit's job", .enabled(if: PrivateBus.isPossible, "dbus-daemon is not installed"), .serialized)
struct UnitJobTests {
  static let invocation = "00112233445566778899aabbccddeeff"

  private func job(_ type: String?, asked invocation: String? = invocation, isDeaf: Bool = false) throws -> String? {
    let bus = try PrivateBus()
    try bus.start()
    var double: SystemdDouble?
    return try onLoop { loop, done in
      double = try SystemdDouble(on: bus.address, loop: loop, job: type, isDeaf: isDeaf)
      let job = UnitJob(on: loop, busAddress: bus.address)
      job.ask(invocation: invocation, within: .milliseconds(isDeaf ? 200 : 20_000)) { type in withExtendedLifetime(double) { done(type) } }
      return job
    }
  }

  @Test("tells a restart from a stop", arguments: ["restart", "stop", "try-restart"]) func types(type: String) throws {
    #expect(try job(type) == type)
    #expect(UnitJob.isRestart(type) == (type != "stop"))
  }

  @Test("is none where a signal came by hand, where systemd has not started the process, and where it does not answer") func none() throws {
    #expect(try job(nil) == nil)
    #expect(try job("restart", asked: nil) == nil)
    #expect(try job("restart", asked: "nonsense") == nil)
    #expect(try job("restart", isDeaf: true) == nil)
    #expect(!UnitJob.isRestart(nil))
  }
}

/// What stands for systemd on a private bus: one unit, with a job or without one.
private final class SystemdDouble {
  private var bus: OpaquePointer?
  private var reading: EventSource?
  private let job: String?
  private let isDeaf: Bool

  init(on address: String, loop: EventLoop, job: String?, isDeaf: Bool) throws {
    self.job = job
    self.isDeaf = isDeaf
    guard sd_bus_new(&bus) >= 0, sd_bus_set_address(bus, address) >= 0, sd_bus_set_bus_client(bus, 1) >= 0, sd_bus_start(bus) >= 0,
      sd_bus_request_name(bus, "org.freedesktop.systemd1", 0) >= 0
    else { throw SystemError(code: EIO, operation: "own a name on the private bus") }
    sd_bus_add_filter(
      bus, nil,
      { message, context, _ in
        guard let message, let context else { return 0 }
        return Unmanaged<SystemdDouble>.fromOpaque(context).takeUnretainedValue().take(message)
      }, Unmanaged.passUnretained(self).toOpaque())
    reading = try loop.whenReadable(sd_bus_get_fd(bus)) { [weak self] in self?.process() }
    process()
  }

  deinit { sd_bus_flush_close_unref(bus) }

  private func process() { while sd_bus_process(bus, nil) > 0 {} }

  private func take(_ message: OpaquePointer) -> Int32 {
    guard sd_bus_message_is_method_call(message, nil, nil) > 0 else { return 0 }
    if isDeaf { return 1 }
    var reply: OpaquePointer?
    sd_bus_message_new_method_return(message, &reply)
    let interface = text(in: message)
    if sd_bus_message_is_method_call(message, "org.freedesktop.systemd1.Manager", "GetUnitByInvocationID") > 0 {
      append("o", "/org/freedesktop/systemd1/unit/roamwardd_2eservice", to: reply)
    } else if interface == "org.freedesktop.systemd1.Unit" {
      sd_bus_message_open_container(reply, code("v"), "(uo)")
      sd_bus_message_open_container(reply, code("r"), "uo")
      var number: UInt32 = job == nil ? 0 : 7
      sd_bus_message_append_basic(reply, code("u"), &number)
      append("o", job == nil ? "/" : "/org/freedesktop/systemd1/job/7", to: reply)
      sd_bus_message_close_container(reply)
      sd_bus_message_close_container(reply)
    } else {
      sd_bus_message_open_container(reply, code("v"), "s")
      append("s", job ?? "", to: reply)
      sd_bus_message_close_container(reply)
    }
    sd_bus_send(bus, reply, nil)
    sd_bus_message_unref(reply)
    sd_bus_flush(bus)
    return 1
  }

  /// The first argument, where it is a text.
  private func text(in message: OpaquePointer) -> String? {
    var text: UnsafePointer<CChar>?
    guard sd_bus_message_read_basic(message, code("s"), &text) > 0, let text else { return nil }
    return String(cString: text)
  }

  private func append(_ type: Character, _ text: String, to reply: OpaquePointer?) {
    _ = text.withCString { sd_bus_message_append_basic(reply, code(type), $0) }
  }

  private func code(_ type: Character) -> CChar { CChar(bitPattern: type.asciiValue ?? 0) }
}
