import CSystemd
import HostServices
import LinuxIO
import NetworkTypes
import RoamwardCore
import SystemdIO
import SystemdTestSupport
import TestSupport
import Testing

@Suite("A unit in a slice, against a double of systemd", .enabled(if: PrivateBus.isPossible, "dbus-daemon is not installed"), .serialized)
struct UnitRunTests {
  static let slice = "roamward_1_work.slice"

  /// Starts or stops a unit until it has said so; what was done, in order, and how it ended.
  private func play(
    stops: Bool = false, isTakenOver: Bool = false, mark: String? = nil, isMarked: Bool = true, dropIn: String? = nil,
    _ prepare: (ManagerDouble) -> Void = { _ in }
  ) throws -> (log: [String], end: String) {
    let (bus, folder) = (try PrivateBus(), try TemporaryFolder())
    try bus.start()
    if let dropIn {
      try Folder.make("\(folder.path)/work.service.d", mode: 0o755)
      try TextFile.create("\(folder.path)/work.service.d/zz-roamward.conf", with: Array("[Service]\nSlice=\(dropIn)\n".utf8), mode: 0o644)
    }
    return try onLoop { loop, done in
      let double = try ManagerDouble(on: bus.address, loop: loop, dropIns: folder.path)
      prepare(double)
      let slice = UnitSlice(
        Self.slice, isTakenOver: isTakenOver,
        mark: {
          double.log.append("mark")
          return mark
        }, isMarked: { isMarked }, forget: { double.log.append("forget") })
      let run = ServiceProviderConfiguration(.unit("work.service")).run(
        on: loop, in: slice, busAddress: bus.address, dropIns: folder.path)
      func end(_ words: String) {
        double.log.append(double.hasFolder ? "folder" : "no folder")
        done((double.log, words))
      }
      if stops {
        run.stop { end($0 ?? "stopped") }
      } else {
        run.start { news in
          switch news {
          case .marked: double.log.append("marked")
          case .running: end("running")
          case .ended(let reason): end(reason)
          }
        }
      }
      return (bus, folder, double, run)
    }
  }

  @Test("the slice is marked and told of, and the drop-in read, before the unit starts") func starts() throws {
    let seen = try play()
    #expect(
      seen.log == ["StartUnit \(Self.slice)", "mark", "marked", "Reload with \(Self.slice)", "StartUnit work.service", "folder"])
    #expect(seen.end == "running")
  }

  @Test("one that runs already is stopped first") func moves() throws {
    let seen = try play { ($0.state, $0.group) = ("active", "/system.slice/work.service") }
    #expect(seen.log.suffix(3) == ["StopUnit work.service", "StartUnit work.service", "folder"] && seen.end == "running")
  }

  @Test("one that the last agent has left in its slice goes on; from elsewhere it is started again") func takenOver() throws {
    let kept = try play(isTakenOver: true, dropIn: Self.slice) { ($0.state, $0.group) = ("active", "/\(Self.slice)/work.service") }
    #expect(kept.log == ["StartUnit \(Self.slice)", "mark", "marked", "folder"] && kept.end == "running")
    let moved = try play(isTakenOver: true) { ($0.state, $0.group) = ("active", "/system.slice/work.service") }
    #expect(moved.log.contains("StopUnit work.service") && moved.end == "running")
  }

  @Test("it does not start where its sockets would have no mark; the reason says what to do") func refused() throws {
    func reason(_ seen: (log: [String], end: String)) -> String {
      #expect(!seen.log.contains("StartUnit work.service"))
      return seen.end
    }
    #expect(try reason(play(mark: "no bpf(2)")) == "work.service: its sockets cannot be marked: no bpf(2)")
    #expect(
      try reason(play { $0.otherSlice = "system.slice" })
        == "work.service: it would run in system.slice rather than in \(Self.slice); remove `Slice=` from its last drop-in (`systemctl cat work.service`)"
    )
    #expect(
      try reason(play { $0.group = "/system.slice/work.service" })
        == "work.service: processes of it are left in /system.slice/work.service, where sockets are not marked; `systemctl kill work.service` ends them"
    )
    #expect(try reason(play { $0.results[Self.slice] = "failed" }) == "work.service: its slice \(Self.slice): failed")
    let elsewhere = try play { $0.nextGroup = "/user.slice/session-1.scope" }
    #expect(elsewhere.end == "work.service: it runs in /user.slice/session-1.scope, where its sockets are not marked")
    let anew = try play(isMarked: false)
    #expect(anew.end == "work.service: another program has stopped its slice \(Self.slice)")
  }

  @Test("a stop removes the drop-in and the slice; that of another program stays") func stops() throws {
    let seen = try play(stops: true, dropIn: Self.slice) { ($0.state, $0.group) = ("active", "/\(Self.slice)/work.service") }
    #expect(
      seen.log == ["StopUnit work.service", "Reload with nothing", "StopUnit \(Self.slice)", "forget", "no folder"]
        && seen.end == "stopped")
    let other = try play(stops: true, dropIn: "other.slice")
    #expect(other.log == ["StopUnit work.service", "StopUnit \(Self.slice)", "forget", "folder"] && other.end == "stopped")
    // Nothing was left of it: as a clean-up after a crash finds it.
    let gone = try play(stops: true) { $0.missing = ["work.service", Self.slice] }
    #expect(gone.log.suffix(2) == ["forget", "no folder"] && gone.end == "stopped")
    let clings = try play(stops: true, dropIn: Self.slice) { $0.results["work.service"] = "timeout" }
    #expect(clings.log == ["StopUnit work.service", "folder"] && clings.end == "the job to stop it: timeout")
  }
}

@Suite("A connection to the bus", .enabled(if: PrivateBus.isPossible, "dbus-daemon is not installed"), .serialized)
struct BusTimeoutTests {
  /// With other messages to send at that moment, sd-bus ended the process.
  @Test("it may be closed when a call was not answered in time") func closed() throws {
    let bus = try PrivateBus()
    try bus.start()
    let isLate: Bool = try onLoop { loop, done in
      let double = try BusDouble("org.example.Deaf", on: bus.address, loop: loop) { _ in .nothing }
      let system = SystemBus(on: loop, address: bus.address)
      system.opened = { [unowned system] in
        system.call("org.example.Deaf", "/", "org.example.Deaf", "Wait", within: .milliseconds(50)) { [unowned system] result in
          guard case .failure(let error) = result, error.isTimeout else { return done(false) }
          system.disconnect()
          done(true)
        }
      }
      system.connect()
      return (bus, double, system)
    }
    #expect(isLate)
  }
}

/// A double of systemd on a private bus: a service and its slice, whose jobs end at once.
private final class ManagerDouble: MessageWriting {
  private static let unit = "/org/freedesktop/systemd1/unit/work_2eservice"

  var log: [String] = []
  var state = "inactive"
  var group = ""
  /// The group of the next start; empty: that of the slice in force.
  var nextGroup = ""
  /// The slice that a later drop-in names.
  var otherSlice: String?
  /// The results of jobs, by units; others are done.
  var results: [String: String] = [:]
  /// Units that systemd does not know.
  var missing: Set<String> = []
  /// The slice of the drop-in, as systemd has read it.
  private var loaded: String?
  private let dropIn: UnitDropIn
  private let folder: String
  private var jobs = 0
  private var double: BusDouble?
  private let loop: EventLoop
  private var soon: [EventSource?] = []

  init(on address: String, loop: EventLoop, dropIns: String) throws {
    self.loop = loop
    folder = dropIns
    dropIn = UnitDropIn("work.service", in: dropIns)
    loaded = dropIn.slice
    double = try BusDouble("org.freedesktop.systemd1", on: address, loop: loop) { [unowned self] in answer($0) }
  }

  var hasFolder: Bool { Folder.names(in: folder).contains("work.service.d") }

  private func answer(_ call: BusDouble.Call) -> BusDouble.Answer {
    let name = text(in: call.message) ?? ""
    switch call.member {
    case "Reload":
      loaded = dropIn.slice
      log.append("Reload with \(loaded ?? "nothing")")
      return .reply { _ in }
    case "LoadUnit": return .reply { [self] in append("o", Self.unit, to: $0) }
    case "StartUnit", "StopUnit":
      if missing.contains(name) { return .error(name: "org.freedesktop.systemd1.NoSuchUnit", text: "Unit \(name) not loaded.") }
      log.append("\(call.member) \(name)")
      jobs += 1
      let job = "/org/freedesktop/systemd1/job/\(jobs)"
      let result = results[name] ?? "done"
      if name == "work.service", result == "done" { move(isStart: call.member == "StartUnit") }
      soon.append(try? loop.at(.now) { [unowned self] in removed(job, name, result) })
      return .reply { [self] in append("o", job, to: $0) }
    case "Get":
      let value =
        switch text(in: call.message) {
        case "ActiveState": state
        case "ControlGroup": group
        case "Slice": otherSlice ?? loaded ?? "system.slice"
        default: ""
        }
      return .reply { [self] reply in
        sd_bus_message_open_container(reply, code("v"), "s")
        append("s", value, to: reply)
        sd_bus_message_close_container(reply)
      }
    default: return .reply { _ in }
    }
  }

  private func move(isStart: Bool) {
    state = isStart ? "active" : "inactive"
    group = isStart ? (nextGroup.isEmpty ? "/\(loaded ?? "system.slice")/work.service" : nextGroup) : ""
  }

  private func removed(_ job: String, _ unit: String, _ result: String) {
    var signal: OpaquePointer?
    sd_bus_message_new_signal(
      double?.bus, &signal, "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager", "JobRemoved")
    var number = UInt32(jobs)
    sd_bus_message_append_basic(signal, code("u"), &number)
    append("o", job, to: signal)
    append("s", unit, to: signal)
    append("s", result, to: signal)
    sd_bus_send(double?.bus, signal, nil)
    sd_bus_message_unref(signal)
    sd_bus_flush(double?.bus)
  }
}
