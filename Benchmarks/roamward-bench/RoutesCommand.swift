import ArgumentParser
import Glibc
import KernelModel
import KernelNetwork
import NetworkTypes
import RoamwardCore

/// Included routes to the kernel and verified there, beside `ip -batch` of the same routes. Wants a network namespace of its own.
struct RoutesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "routes", abstract: "Plan, apply and verify many routes, beside ip -batch.")

  @Option(help: "How many routes.") var count = 10_000
  @Option(help: "How often each side takes its turn.") var rounds = 15
  @Option(help: "The link to route to, which has to be there and up.") var link = "rw0"

  func run() throws {
    let bench = try RouteBench(count: count, link: link)
    defer { bench.tidy() }
    // The first turn of each warms what is warm later.
    _ = try bench.ours()
    try bench.flush()
    try bench.peer.run()
    try bench.flush()
    var ours = Pass()
    var peer = (wall: Series(), cpu: Series())
    var start = Series()
    var update = Pass()
    for _ in 0..<rounds {
      ours.add(try bench.ours())
      update.add(try bench.update())
      try bench.flush()
      let elapsed = try bench.peer.run()
      peer.wall.values.append(elapsed.wall)
      peer.cpu.values.append(elapsed.cpu)
      start.values.append(try Program(["ip", "-batch", "/dev/null"]).run().wall)
      try bench.flush()
    }
    let what = "\(count.grouped) routes: plan, apply, verify"
    let alone = peer.wall.median - start.median
    print(
      Row(
        what: "\(what) / ip -batch", ours: ours.wall.summary, peer: peer.wall.summary, ratio: ours.wall.median / peer.wall.median,
        bar: "1.00",
        remark: "plan \(ours.plan.median.text(digits: 1)), apply \(ours.apply.median.text(digits: 1)), "
          + "read again \(ours.read.median.text(digits: 1)), plan again \(ours.verify.median.text(digits: 1)) ms"))
    print(
      Row(
        what: "  the same without the start of ip", ours: "\(ours.wall.median.text(digits: 1)) ms", peer: "\(alone.text(digits: 1)) ms",
        ratio: ours.wall.median / alone, bar: "1.00", remark: "starting ip: \(start.median.text(digits: 1)) ms"))
    print(
      Row(
        what: "  then another 1 % of them: plan and apply / 20 ms", ours: "\(update.changing.summary)", peer: "20 ms",
        ratio: update.changing.median / 20, bar: "1.00",
        remark: "plan \(update.plan.median.text(digits: 1)), apply \(update.apply.median.text(digits: 1)); and to verify, "
          + "read \(update.read.median.text(digits: 1)), plan again \(update.verify.median.text(digits: 1)) ms"))
    print(
      Row(
        what: "  the same in CPU time", ours: "\(ours.cpu.median.text(digits: 1)) ms", peer: "\(peer.cpu.median.text(digits: 1)) ms",
        ratio: ours.cpu.median / peer.cpu.median, bar: "", remark: "user and system"))
  }
}

/// Our side's figures, part by part.
private struct Pass {
  var wall = Series()
  var cpu = Series()
  /// Without verifying.
  var changing = Series()
  var plan = Series()
  var apply = Series()
  var read = Series()
  var verify = Series()

  mutating func add(_ parts: [Elapsed]) {
    wall.values.append(parts.reduce(0) { $0 + $1.wall })
    cpu.values.append(parts.reduce(0) { $0 + $1.cpu })
    changing.values.append(parts[0].wall + parts[1].wall)
    plan.values.append(parts[0].wall)
    apply.values.append(parts[1].wall)
    read.values.append(parts[2].wall)
    verify.values.append(parts[3].wall)
  }
}

/// The routes, and both ways of bringing them to the kernel.
private struct RouteBench {
  private let reader: KernelReader
  private let applier: KernelApplier
  private let desired: DesiredState
  /// The same but for a hundredth of the routes, which lead elsewhere.
  private let updated: DesiredState
  private let table = Ownership.tables.lowerBound
  private let file: String
  let peer: Program

  init(count: Int, link: String) throws {
    reader = try KernelReader()
    applier = try KernelApplier()
    let table = table
    // 10.0.0.0/24, 10.0.1.0/24 and so on.
    let routes = (0..<count).compactMap { i in
      IPPrefix(IPAddress(v4: 10 << 24 | UInt32(i) << 8), length: 24).map { Route(to: $0, on: link, table: table) }
    }
    guard routes.count == count, Set(routes).count == count else { throw BenchmarkError("there are no \(count) such routes") }
    desired = DesiredState(links: [DesiredLink(name: link, tunnel: "bench", device: .foreign)], routes: routes)
    let other = routes.enumerated().compactMap { i, route in
      if i % 100 > 0 { return route }
      return IPPrefix(IPAddress(v4: 100 << 24 | UInt32(i) << 8), length: 24).map { Route(to: $0, on: link, table: table) }
    }
    updated = DesiredState(links: desired.links, routes: other)
    file = "/tmp/roamward-bench-\(getpid()).batch"
    try write(routes.map { "route add \($0)\n" }.joined(), to: file)
    peer = Program(["ip", "-batch", file])
  }

  /// Four parts: plan, apply, read again, plan again. What is there before is read outside of them, as the agent has read it to decide.
  func ours() throws -> [Elapsed] { try converge(to: desired, steps: desired.routes.count) }

  /// From what `ours` has made: a removal and an addition for each route that leads elsewhere.
  func update() throws -> [Elapsed] { try converge(to: updated, steps: (desired.routes.count + 99) / 100 * 2) }

  private func converge(to desired: DesiredState, steps: Int) throws -> [Elapsed] {
    let observed = ObservedState(kernel: try reader.read(extraTables: [table]))
    var plan = Plan()
    let planning = measure { plan = Plan(from: observed, to: desired) }
    guard plan.steps.count == steps else { throw BenchmarkError("the table is not as it was: \(plan.steps.count) steps, not \(steps)") }
    var failures: [StepResult] = []
    let applying = measure { failures = applier.apply(plan.steps).failures }
    guard failures.isEmpty else { throw BenchmarkError("\(failures[0])") }
    var now = ObservedState()
    let reading = try measure { now = ObservedState(kernel: try reader.read(extraTables: [table])) }
    var rest = Plan()
    let verifying = measure { rest = Plan(from: now, to: desired) }
    guard rest.isEmpty else { throw BenchmarkError("not as wanted: \(rest.steps.count) steps are left") }
    return [planning, applying, reading, verifying]
  }

  func flush() throws { try Program(["ip", "route", "flush", "table", String(table)]).run() }

  func tidy() { unlink(file) }
}

private func write(_ text: String, to path: String) throws {
  guard let stream = fopen(path, "w") else { throw BenchmarkError("\(path) cannot be written") }
  defer { fclose(stream) }
  guard fputs(text, stream) >= 0 else { throw BenchmarkError("\(path) cannot be written") }
}

extension Int {
  /// `10,000`.
  var grouped: String { self < 1000 ? String(self) : "\((self / 1000).grouped),\(String(String(self % 1000 + 1000).dropFirst()))" }
}
