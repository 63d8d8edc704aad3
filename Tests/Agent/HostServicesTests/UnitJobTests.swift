import CSystemd
import Glibc
import HostServices
import LinuxIO
import NetworkTypes
import SystemdIO
import SystemdTestSupport
import TestSupport
import Testing

@Suite("The unit's job", .enabled(if: PrivateBus.isPossible, "dbus-daemon is not installed"), .serialized)
struct UnitJobTests {
  static let invocation = "00112233445566778899aabbccddeeff"

  private func job(_ type: String?, asked invocation: String? = invocation, isDeaf: Bool = false) throws -> UnitJob.Answer {
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
    #expect(try job(type) == .job(type))
    #expect(UnitJob.Answer.job(type).keepsBlock == (type != "stop"))
  }

  @Test("says before a restart how many descriptors systemd still keeps", arguments: [(64, 3, 61), (0, 0, 0), (nil, 0, 0), (2, 5, 0)])
  func room(_ most: UInt32?, _ kept: UInt32, _ room: Int) throws {
    for type in ["restart", "stop"] {
      #expect(try ask(type, store: most.map { ($0, kept) }) == (type == "restart" ? room : 0))
    }
  }

  @Test("is a restart without room where systemd does not say in time what it keeps") func roomUnanswered() throws {
    #expect(try ask("restart", store: (64, 0), isDeafOfStore: true, within: .seconds(4)) == 0)
  }

  private func ask(
    _ type: String, store: (UInt32, UInt32)?, isDeafOfStore: Bool = false, within limit: Duration = .seconds(20)
  ) throws -> Int {
    let bus = try PrivateBus()
    try bus.start()
    var double: SystemdDouble?
    return try onLoop { loop, done in
      double = try SystemdDouble(on: bus.address, loop: loop, job: type, store: store)
      double?.isDeafOfStore = isDeafOfStore
      let job = UnitJob(on: loop, busAddress: bus.address)
      job.ask(invocation: Self.invocation, within: limit) { [unowned job] answer in
        withExtendedLifetime(double) { done(answer == .job(type) ? job.descriptorRoom : -1) }
      }
      return job
    }
  }

  @Test("is none where a signal came by hand, and where systemd has not started the process") func none() throws {
    #expect(try job(nil) == UnitJob.Answer.none)
    #expect(try job("restart", asked: nil) == UnitJob.Answer.none)
    #expect(try job("restart", asked: "nonsense") == UnitJob.Answer.none)
    #expect(!UnitJob.Answer.none.keepsBlock)
  }

  @Test("is unknown where systemd does not answer in time; then a kill switch stays") func unanswered() throws {
    #expect(try job("restart", isDeaf: true) == .unanswered)
    #expect(UnitJob.Answer.unanswered.keepsBlock)
  }
}

/// A double of systemd on a private bus: one unit, with a job or without one.
private final class SystemdDouble: MessageWriting {
  private var double: BusDouble?
  private let job: String?
  private let isDeaf: Bool
  /// The descriptors that it keeps at most, and those that it has; `nil`: it knows no such property.
  private let store: (UInt32, UInt32)?
  var isDeafOfStore = false

  init(on address: String, loop: EventLoop, job: String?, isDeaf: Bool = false, store: (UInt32, UInt32)? = (64, 0)) throws {
    self.job = job
    self.store = store
    self.isDeaf = isDeaf
    double = try BusDouble("org.freedesktop.systemd1", on: address, loop: loop) { [unowned self] in answer($0) }
  }

  private func answer(_ call: BusDouble.Call) -> BusDouble.Answer {
    if isDeaf { return .nothing }
    let interface = text(in: call.message)
    if interface == "org.freedesktop.systemd1.Service" {
      if isDeafOfStore { return .nothing }
      guard let store else { return .error(name: "org.freedesktop.DBus.Error.UnknownProperty", text: "no such property") }
      let isMost = text(in: call.message) == "FileDescriptorStoreMax"
      return .reply { [self] reply in
        sd_bus_message_open_container(reply, code("v"), "u")
        var number = isMost ? store.0 : store.1
        sd_bus_message_append_basic(reply, code("u"), &number)
        sd_bus_message_close_container(reply)
      }
    }
    let isOfUnit = interface == "org.freedesktop.systemd1.Unit"
    return .reply { [self] reply in
      if call.interface == "org.freedesktop.systemd1.Manager", call.member == "GetUnitByInvocationID" {
        append("o", "/org/freedesktop/systemd1/unit/roamwardd_2eservice", to: reply)
      } else if isOfUnit {
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
    }
  }
}
