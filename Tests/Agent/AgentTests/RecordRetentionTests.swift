import ControlProtocol
import FlightRecord
import Glibc
import History
import LinuxIO
import LinuxPlatform
import NetworkTypes
import RoamwardCore
import SeededRandom
import TestKit
import TestSupport
import Testing

/// The record on disk: its bounds, its modes, and a disk that cannot be written.
@Suite struct RecordRetentionTests {
  private func withFolder(_ body: (String) throws -> Void) throws {
    let folder = try TemporaryFolder()
    try body(folder.path + "/history")
  }

  private func pass(_ number: Int, at time: Timestamp, _ settings: HistorySettings = HistorySettings(), ssid: String = "Cafe")
    -> DecisionPass
  {
    let policies = PolicySet(tunnels: [Sample.tunnel(rules: [Sample.rule(.always, .connect)])], history: settings)
    let snapshot = Sample.network(Sample.wifi("\(ssid) \(number % 40)"))
    let now = Moment(nanoseconds: UInt64(number) * 1_000_000_000)
    let decisions = Evaluator(networks: []).decide(policies, on: snapshot)
    return DecisionPass(
      at: now, time: time, generation: 1, policies: policies, snapshot: snapshot, changedAt: now, running: [], overrides: [:],
      waits: ([:], [:]),
      decisions: decisions)
  }

  @Test("segments at random stay within size and age") func bounds() {
    var dice = SplitMix64(seed: 11)
    for _ in 0..<50 {
      var settings = HistorySettings()
      settings.size = Int.random(in: (64 << 10)...(1 << 20), using: &dice)
      settings.age = .seconds(Int.random(in: 3600...1_000_000, using: &dice))
      var list = SegmentList()
      var time: Timestamp = 1_000_000
      _ = list.begin(.full, at: time)
      for _ in 0..<500 {
        time = time + .seconds(Int.random(in: 0...20_000, using: &dice))
        let count = Int.random(in: 1...(settings.size / SegmentList.parts), using: &dice)
        _ = list.removeOutdated(before: count, settings, at: time)
        list.grow(by: count)
        #expect(list.size <= settings.size)
        // Each segment but the last ended within the age.
        #expect(zip(list.segments, list.segments.dropFirst()).allSatisfy { $1.begins >= time - settings.age })
        if list.needsNew(for: 0, settings, at: time) { _ = list.begin(.full, at: time) }
      }
    }
  }

  @Test("is for root alone, stays within its size, and is read back") func onDisk() throws {
    try withFolder { path in
      var settings = HistorySettings()
      settings.size = 64 << 10
      let recorder = FlightRecorder(folder: HistoryFolder(path: path))
      for number in 1...2000 {
        let time = Timestamp(seconds: Int64(1_000_000 + number * 60))
        recorder.add(pass(number, at: time, settings))
        recorder.flush(at: time)
        if number.isMultiple(of: 100) { #expect(HistoryFolder(path: path).segments.reduce(0) { $0 + $1.size } <= 64 << 10) }
      }
      #expect(recorder.troubles == [])
      let folder = HistoryFolder(path: path)
      #expect(folder.segments.count > 2)
      var status = stat()
      #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o700)
      for name in Folder.names(in: path) { #expect(stat("\(path)/\(name)", &status) == 0 && status.st_mode & 0o777 == 0o600) }
      let history = RecordedHistory(segments: folder.read().segments)
      #expect(history.damaged == 0 && history.gaps(from: 0, to: .distantFuture) == [])
      #expect(Array(history.passes).last?.time == Timestamp(seconds: 1_120_000))
    }
  }

  @Test("before the first policies, nothing is written") func unsaid() throws {
    try withFolder { path in
      let recorder = FlightRecorder(folder: HistoryFolder(path: path))
      var early = pass(1, at: 100)
      early.generation = 0
      recorder.add(early)
      recorder.add(Event(time: 100, kind: .network(link: "wlan0", type: "wifi", ssid: "Cafe")))
      recorder.flush(at: 100)
      #expect(Folder.names(in: path) == [])
    }
  }

  @Test("off removes it; more privacy removes what says more") func switches() throws {
    try withFolder { path in
      let recorder = FlightRecorder(folder: HistoryFolder(path: path))
      func bytes() -> String { String(decoding: HistoryFolder(path: path).read().segments.joined(), as: UTF8.self) }
      recorder.add(pass(1, at: 100))
      recorder.flush(at: 100)
      #expect(bytes().contains("Cafe"))
      var settings = HistorySettings()
      settings.names = .hashed
      recorder.add(pass(2, at: 200, settings))
      recorder.flush(at: 200)
      #expect(!bytes().contains("Cafe") && bytes().contains("\"m\":2000000000"))
      settings.isEnabled = false
      recorder.add(pass(3, at: 300, settings))
      recorder.flush(at: 300)
      #expect(access(path, F_OK) != 0 && recorder.troubles == [])
    }
  }

  @Test(
    "on a full or read-only disk the agent goes on and says so; the record goes on when it can",
    .enabled(if: canMakeNamespaces, "no namespaces here"))
  func fullDisk() throws {
    let folder = try TemporaryFolder()
    try inNamespaces(mounts: true) {
      let disk = folder.path + "/disk"
      try Folder.make(disk, mode: 0o755)
      try #require(mount("tmpfs", disk, "tmpfs", 0, "size=128k") == 0)
      defer { umount2(disk, 2) }
      let path = disk + "/history"
      var recorder = FlightRecorder(folder: HistoryFolder(path: path))
      var number = 0
      func go(_ count: Int) {
        for _ in 0..<count {
          number += 1
          recorder.add(pass(number, at: Timestamp(seconds: Int64(number))))
          recorder.flush(at: Timestamp(seconds: Int64(number)))
        }
      }
      go(5)
      #expect(recorder.troubles == [])
      try TextFile.create(disk + "/ballast", with: [], mode: 0o600)
      while (try? TextFile.append(disk + "/ballast", [UInt8](repeating: 1, count: 4096))) != nil {}
      go(200)
      #expect(recorder.troubles.count == 1 && recorder.troubles[0].contains("No space left on device"))
      try TextFile.remove(disk + "/ballast")
      go(5)
      #expect(recorder.troubles == [])
      // The open segment would keep it from being made read-only.
      recorder = FlightRecorder(folder: HistoryFolder(path: path))
      try #require(mount(nil, disk, nil, UInt(MS_REMOUNT | MS_RDONLY), nil) == 0)
      recorder.add(pass(1, at: 1))
      recorder.flush(at: 1)
      #expect(recorder.troubles.count == 1 && recorder.troubles[0].contains("Read-only file system"))
      let history = RecordedHistory(segments: HistoryFolder(path: path).read().segments)
      let gaps = history.gaps(from: 0, to: .distantFuture)
      #expect(gaps.contains { $0.lost > 0 })
      #expect(Array(history.passes).last?.time == Timestamp(seconds: Int64(number)))
    }
  }
}
