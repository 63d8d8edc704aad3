import Glibc
import LinuxIO
import NetworkTypes
import SystemdIO
import SystemdTestSupport
import TestSupport
import Testing

@Suite("The event loop")
struct EventLoopTests {
  @Test("calls timers in order, none early, and a dropped one never")
  func timers() throws {
    // Timers that are all due when the loop begins have no order (sd-event(3)); then the test tries again.
    for _ in 0..<50 {
      let begin = Moment.now
      var order: [Int] = []
      var first = begin
      let end: Moment = try onLoop { loop, done in
        var dropped: EventSource? = try loop.at(begin + .milliseconds(20)) { order.append(0) }
        _ = dropped
        dropped = nil
        return [
          try loop.at(begin + .milliseconds(60)) { done(.now) },
          try loop.at(begin + .milliseconds(30)) { order.append(2) },
          try loop.at(begin) {
            order.append(1)
            first = .now
          },
        ]
      }
      #expect(end - begin >= .milliseconds(60) && !order.contains(0))
      guard !order.isEmpty, first - begin < .milliseconds(30) else { continue }
      #expect(order == [1, 2])
      return
    }
    Issue.record("the loop never begins in time")
  }

  @Test("gives the code that it was stopped with")
  func stopCode() throws {
    let loop = try EventLoop()
    let timer = try loop.at(.now) { loop.stop(code: 5) }
    #expect(try loop.run() == 5)
    _ = timer
  }

  @Test("tells changes in a folder with their names")
  func inotify() throws {
    let folder = try TemporaryFolder()
    let name: String = try onLoop { loop, done in
      let watch = try loop.onChange(in: folder.path, mask: UInt32(IN_MOVED_TO)) { name, _ in done(name) }
      let change = try loop.at(.now) { try? TextFile.replace(folder.path + "/wanted", with: [1], mode: 0o600) }
      return (watch, change)
    }
    #expect(name == "wanted")
  }

  @Test("tells signals that were sent to the thread")
  func signal() throws {
    let got: Bool = try onLoop { loop, done in
      let source = try loop.onSignal(SIGHUP) { done(true) }
      pthread_kill(pthread_self(), SIGHUP)
      return source
    }
    #expect(got)
  }

  @Test("a source cancelled in its own callback lets its descriptor be watched anew")
  func cancelWithinCallback() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    let (reader, writer) = (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
    let bytes: [UInt8]? = try onLoop { loop, done in
      var source: EventSource?
      source = try loop.whenReadable(reader.number) {
        source?.cancel()
        source = try? loop.whenReadable(reader.number) { done((try? reader.read()) ?? nil) }
      }
      _ = try writer.write([7])
      return source
    }
    #expect(bytes == [7])
  }

  @Test("a source dropped in its own callback leaves alone what takes its descriptor's number")
  func dropWithinCallback() throws {
    func makePipe() throws -> (FileDescriptor, FileDescriptor) {
      var ends: [Int32] = [0, 0]
      try #require(pipe(&ends) == 0)
      return (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
    }
    let (first, second) = (try makePipe(), try makePipe())
    _ = try first.1.write([1])
    _ = try second.1.write([2])
    let bytes: [UInt8]? = try onLoop(limit: .seconds(10)) { loop, done in
      var source: EventSource?
      source = try loop.whenReadable(first.0.number) {
        source = nil
        // Closes the number and gives it away, in one step.
        dup2(second.0.number, first.0.number)
        source = try? loop.whenReadable(first.0.number) { done((try? first.0.read()) ?? nil) }
      }
      return { source }
    }
    #expect(bytes == [2])
  }

  @Test("a source that ends after its descriptor leaves no watch behind on a file that a child shares")
  func endAfterDescriptor() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    let writer = FileDescriptor(owning: ends[1])
    // As in a child between fork and exec.
    let shared = FileDescriptor(owning: dup(ends[0]))
    let isSilent: Bool = try onLoop { loop, done in
      let source = try loop.whenReadable(ends[0]) { done(false) }
      close(ends[0])
      source.cancel()
      _ = try writer.write([1])
      return try loop.at(.now + .milliseconds(20)) { done(true) }
    }
    #expect(isSilent)
    #expect(try shared.read() == [1])
  }
}
