import Glibc
import LinuxIO
import NetworkTypes
import SystemdIO
import SystemdTestSupport
import TestSupport
import Testing

@Suite("A child process")
struct ChildProcessTests {
  private func run(_ arguments: [String], _ environment: [String: String] = [:], timeout: Duration = .seconds(10)) throws
    -> ChildProcess.Outcome
  {
    try onLoop { loop, done in try ChildProcess(arguments, environment: environment, timeout: timeout, on: loop, then: done) }
  }

  @Test(
    "tells its exit code, or 128 and the signal", arguments: [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137)])
  func exitCode(line: String, code: Int32) throws {
    #expect(try run(["/bin/sh", "-c", line]).code == code)
  }

  @Test("gives standard output and error together")
  func output() throws {
    let outcome = try run(["/bin/sh", "-c", "echo out; echo err >&2"])
    #expect(outcome.output == "out\nerr\n")
    #expect(!outcome.wasTimedOut)
  }

  @Test("gathers no more than 16 KiB, and reads the rest away so that the program can end")
  func outputBound() throws {
    let outcome = try run(["/bin/sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x; exit 3"])
    #expect(outcome.output == String(repeating: "x", count: 16_384))
    #expect(outcome.code == 3)
  }

  @Test("a missing program is an error at once")
  func missingProgram() throws {
    let error = #expect(throws: SystemError.self) { try run(["roamward-no-such-program"]) }
    #expect(error?.code == ENOENT)
  }

  @Test("has PATH and what it is given in its environment, nothing else; no input; no descriptor but three; no signal blocked")
  func cleanSurroundings() throws {
    let leak = open("/dev/null", O_RDONLY | O_CLOEXEC)
    defer { close(leak) }
    #expect(try run(["/usr/bin/env"], ["A": "1"]).output.split(separator: "\n").filter { !$0.hasPrefix("PATH=") } == ["A=1"])
    #expect(try run(["/bin/cat"]).output == "")
    // The fourth is ls's own, for the folder.
    #expect(try run(["/bin/ls", "/proc/self/fd"]).output == "0\n1\n2\n3\n")
    #expect(try run(["/bin/grep", "SigBlk", "/proc/self/status"]).output == "SigBlk:\t0000000000000000\n")
  }

  @Test("the time-out ends the whole group, and what of it will not go is killed")
  func timeoutEndsTheGroup() throws {
    let begin = ContinuousClock.now
    // The shell goes at SIGTERM; the child of it does not listen.
    let outcome = try run(
      ["/bin/sh", "-c", "(trap '' TERM; echo $$; sleep 30 & echo $!; wait; sleep 30) & wait"], timeout: .milliseconds(200))
    #expect(outcome.wasTimedOut)
    #expect(outcome.code == 143)
    // Neither of them waits for its sleep.
    #expect(ContinuousClock.now - begin < .seconds(20))
    for line in outcome.output.split(separator: "\n") { #expect(isGone(Int32(line) ?? 0), "\(line) lives on") }
  }

  @Test("a program that ignores SIGTERM is killed two seconds after the time-out")
  func killsTheDeaf() throws {
    let line = "trap '' TERM; echo deaf; while :; do sleep 0.05; done"
    var outcome = try run(["/bin/sh", "-c", line], timeout: .milliseconds(100))
    // On a busy machine the signal comes before the shell ignores it.
    for limit in [2, 20] where outcome.output != "deaf\n" { outcome = try run(["/bin/sh", "-c", line], timeout: .seconds(limit)) }
    #expect(outcome.output == "deaf\n" && outcome.wasTimedOut)
    #expect(outcome.code == 137)
  }

  @Test("killed or dropped, it is gone, leaves no zombie and calls nobody", arguments: [true, false])
  func killed(byDropping: Bool) throws {
    let process: Int32 = try onLoop { loop, done in
      let number = try killedChild(on: loop, byDropping: byDropping)
      return try loop.at(.now + .milliseconds(100)) { done(number) }
    }
    #expect(kill(process, 0) == -1)
  }

  @Test("a program that ended leaves no zombie")
  func reaped() throws {
    let process: Int32 = try onLoop { loop, done in
      var (number, later): (Int32, EventSource?) = (0, nil)
      let child = try ChildProcess(["/bin/true"], timeout: .seconds(60), on: loop) { _ in
        later = try? loop.at(.now + .milliseconds(20)) { done(number) }
      }
      number = child.process
      return (child, { later })
    }
    #expect(kill(process, 0) == -1)
  }

  private func killedChild(on loop: EventLoop, byDropping: Bool) throws -> Int32 {
    let child = try ChildProcess(["/bin/sleep", "30"], timeout: .seconds(10), on: loop) { _ in Issue.record("called back") }
    if !byDropping { child.kill() }
    return child.process
  }

  /// Gone, or a zombie that its new parent has not collected yet; checked for ten seconds.
  private func isGone(_ process: Int32) -> Bool {
    for _ in 0..<500 {
      guard let status = try? TextFile.read("/proc/\(process)/stat") else { return true }
      if String(decoding: status, as: UTF8.self).contains(") Z ") { return true }
      usleep(20_000)
    }
    return false
  }
}
