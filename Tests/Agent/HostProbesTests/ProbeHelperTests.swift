import Glibc
import HostProbes
import LinuxIO
import NetworkTypes
import RoamwardCore
import SystemdIO
import SystemdTestSupport
import TestSupport
import Testing

private let fine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

@Suite("The probes' process", .enabled(if: canMakeNamespaces, "no namespaces here"))
struct ProbeHelperTests {
  private func exists(_ process: Int32) -> Bool { kill(process, 0) == 0 }

  /// Probes a server of this namespace that answers so, at 127.0.0.1.
  private func probe(
    _ server: TinyHTTPServer, by helper: ProbeHelper, on loop: EventLoop, timeout: Duration = .seconds(20),
    then: @escaping (ProbeReply) -> Void
  ) -> ProbeRun {
    let runner = ProbeRunner(on: loop, helper, resolver: EndpointResolver(on: loop, helper))
    let request = ProbeRequest(url: "http://127.0.0.1:\(server.port)/", timeout: timeout)
    return runner.run(request, by: ProbePassage(link: "lo", nameServers: .known([])), then: then)
  }

  /// The result of a probe with this program in the helper's place, which gets its errands on descriptor 3.
  private func reply(of script: String, patience: ProbeHelper.Patience = ProbeHelper.Patience()) throws -> ProbeReply {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/helper"
    try makeProgram(path, "#!/bin/bash\n\(script)\n")
    return try inNamespaces {
      try onLoop { loop, done in
        let server = try TinyHTTPServer(on: loop) { _ in .text(fine) }
        let helper = ProbeHelper(on: loop, path: path, patience: patience)
        return (server, helper, probe(server, by: helper, on: loop, timeout: .seconds(20), then: done))
      }
    }
  }

  @Test("it has nothing: no user's rights, no capability, no file, no variable, and bounds for what it may take")
  func nothing() throws {
    let seen: [String] = try inNamespaces {
      try onLoop { loop, done in
        let server = try TinyHTTPServer(on: loop) { _ in .text(fine) }
        let helper = ProbeHelper(on: loop)
        let run = probe(server, by: helper, on: loop) { reply in
          #expect(reply == .response(status: 200))
          guard let process = helper.process else { return done([]) }
          let folder = "/proc/\(process)"
          let text = { (name: String) in (try? TextFile.read("\(folder)/\(name)")).map { String(decoding: $0, as: UTF8.self) } ?? "" }
          let files = Folder.names(in: "\(folder)/fd").map { FileNature.linkTarget(of: "\(folder)/fd/\($0)") ?? "" }
          let maps = text("maps").split(separator: "\n").filter { line in
            let rights = line.split(separator: " ").dropFirst().first ?? ""
            return rights.contains("w") && rights.contains("x")
          }
          done(
            text("status").split(separator: "\n").map(String.init) + files.map { "file \($0)" } + ["environment [\(text("environ"))]"]
              + ["folder \(FileNature.linkTarget(of: "\(folder)/cwd") ?? "")", "writable code \(maps.count)"]
              + text("limits").split(separator: "\n").map(String.init))
        }
        return (server, helper, run)
      }
    }
    func words(_ name: String) -> [Substring] {
      seen.first { $0.hasPrefix(name) }?.split { " \t".contains($0) }.dropFirst().map { $0 } ?? []
    }
    if geteuid() == 0 { #expect(words("Uid:").count == 4 && !words("Uid:").contains("0") && !words("Gid:").contains("0")) }
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] { #expect(words(set) == ["0000000000000000"], "\(set)") }
    if geteuid() == 0 { #expect(words("CapBnd:") == ["0000000000000000"] && words("Groups:") == []) }
    #expect(words("NoNewPrivs:") == ["1"] && words("Seccomp:") == ["2"] && words("Threads:") == ["1"])
    #expect(seen.contains("environment []") && seen.contains("folder /") && seen.contains("writable code 0"), "\(seen)")
    let files = seen.filter { $0.hasPrefix("file ") }
    #expect(files.count { $0 == "file /dev/null" } == 3)
    #expect(files.allSatisfy { $0 == "file /dev/null" || $0.hasPrefix("file socket:") || $0.hasPrefix("file anon_inode:") }, "\(files)")
    #expect(words("Max open files") == ["open", "files", "256", "256", "files"])
    #expect(words("Max file size") == ["file", "size", "0", "0", "bytes"])
    #expect(words("Max core file size") == ["core", "file", "size", "0", "0", "bytes"])
    #expect(words("Max data size") == ["data", "size", "268435456", "268435456", "bytes"])
  }

  @Test("killed in the middle of an errand it fails that one with the reason, and is started again after a pause")
  func killed() throws {
    let replies: [ProbeReply] = try inNamespaces {
      try onLoop { loop, done in
        var answers = [TinyHTTPServer.Answer.stay(""), .text(fine)]
        let helper = ProbeHelper(on: loop)
        // Killed when the server has its request, however long the start takes.
        var killing: EventSource?
        let server = try TinyHTTPServer(on: loop) { _ in
          guard answers.count > 1 else { return answers[0] }
          killing = try? loop.at(.now) { if let process = helper.process { kill(process, SIGKILL) } }
          return answers.removeFirst()
        }
        var replies: [ProbeReply] = []
        var kept: [Any?] = [server, helper]
        let first = helper.process
        kept.append(
          probe(server, by: helper, on: loop) { reply in
            replies.append(reply)
            // At once it is too early.
            kept.append(
              probe(server, by: helper, on: loop) { reply in
                replies.append(reply)
                kept.append(
                  try? loop.at(.now + .milliseconds(1100)) {
                    kept.append(
                      probe(server, by: helper, on: loop) { reply in
                        #expect(helper.process != first)
                        done(replies + [reply])
                      })
                  })
              })
          })
        return (kept, { (kept, killing) })
      }
    }
    #expect(replies.first == .unsent(reason: "roamward-probe has ended by signal 9"))
    #expect(replies.dropFirst().first == .unsent(reason: "roamward-probe has ended by signal 9; it is started again in 1 s"))
    #expect(replies.last == .response(status: 200))
  }

  @Test("one that hangs is ended when it has not parted from an errand in time, and its other errands fail")
  func hangs() throws {
    var patience = ProbeHelper.Patience()
    patience.parting = .milliseconds(200)
    let (replies, isGone): ([ProbeReply], Bool) = try inNamespaces {
      try onLoop { loop, done in
        let helper = ProbeHelper(on: loop, patience: patience)
        var replies: [ProbeReply] = []
        var process: Int32 = 0
        // Stopped when the server has both requests, however long the start takes.
        var (count, stop): (Int, EventSource?) = (0, nil)
        let server = try TinyHTTPServer(on: loop) { _ in
          count += 1
          if count == 2 {
            stop = try? loop.at(.now) {
              process = helper.process ?? 0
              kill(process, SIGSTOP)
            }
          }
          return .stay("")
        }
        let long = probe(server, by: helper, on: loop, timeout: .seconds(40)) { reply in
          replies.append(reply)
          done((replies, !exists(process)))
        }
        let short = probe(server, by: helper, on: loop, timeout: .seconds(4)) { replies.append($0) }
        return (server, helper, long, short, { stop })
      }
    }
    #expect(replies == [.unanswered(reason: "no answer within 4.0 seconds"), .unsent(reason: "roamward-probe hangs")])
    #expect(isGone)
  }

  @Test("on another network it is another process, which gets what is still wanted")
  func renewed() throws {
    let seen: [String] = try inNamespaces {
      try onLoop { loop, done in
        var answers = [TinyHTTPServer.Answer.stay(""), .stay(""), .text(fine)]
        // When the server has both requests, however long the start takes.
        var bothAreThere: () -> Void = {}
        let server = try TinyHTTPServer(on: loop) { _ in
          guard answers.count > 1 else { return answers[0] }
          if answers.count == 2 { bothAreThere() }
          return answers.removeFirst()
        }
        let helper = ProbeHelper(on: loop)
        helper.renew()
        #expect(helper.process == nil, "nothing is started for a network without tasks")
        var kept: [Any?] = [server, helper]
        var obsolete: ProbeRun? = probe(server, by: helper, on: loop, timeout: .seconds(30)) { _ in
          Issue.record("an answer to an obsolete probe")
        }
        var first: Int32?
        kept.append(
          probe(server, by: helper, on: loop, timeout: .seconds(30)) { reply in
            let process = helper.process
            helper.renew()
            done(["\(reply)", "gone \(first.map(exists) == false)", "another \(process != first)", "idle \(helper.process == nil)"])
          })
        bothAreThere = {
          bothAreThere = {}
          kept.append(
            try? loop.at(.now) {
              first = helper.process
              withExtendedLifetime(obsolete) {}
              obsolete = nil
              helper.renew()
            })
        }
        return (kept, { kept })
      }
    }
    #expect(seen == ["\(ProbeReply.response(status: 200))", "gone true", "another true", "idle true"])
  }

  @Test("it is ended when there has been no errand for a while, not while there is one, and is started for the next")
  func idle() throws {
    var patience = ProbeHelper.Patience()
    patience.idle = .milliseconds(200)
    let seen: [String] = try inNamespaces {
      try onLoop { loop, done in
        let server = try TinyHTTPServer(on: loop) { _ in .text(fine) }
        let silent = try TinyHTTPServer(on: loop) { _ in .stay("") }
        let helper = ProbeHelper(on: loop, patience: patience)
        #expect(helper.process == nil, "nothing runs before it is needed")
        var seen: [String] = []
        var kept: [Any?] = [server, silent, helper]
        kept.append(
          probe(silent, by: helper, on: loop, timeout: .seconds(1)) { _ in
            let process = helper.process ?? 0
            seen.append("after a second with an errand: \(exists(process))")
            let end = Moment.now + .seconds(20)
            func look() {
              if helper.process != nil, Moment.now < end {
                kept.append(try? loop.at(.now + .milliseconds(50)) { look() })
                return
              }
              seen.append("after a while without: \(exists(process)), \(helper.process == nil)")
              kept.append(probe(server, by: helper, on: loop) { done(seen + ["\($0)"]) })
            }
            kept.append(try? loop.at(.now + .milliseconds(400)) { look() })
          })
        return (kept, { kept })
      }
    }
    #expect(
      seen == [
        "after a second with an errand: true", "after a while without: false, true", "\(ProbeReply.response(status: 200))",
      ])
  }

  @Test("where it is not installed, or cannot work, the reason and the cure are told")
  func missing() throws {
    let reply: ProbeReply = try inNamespaces {
      try onLoop { loop, done in
        let server = try TinyHTTPServer(on: loop) { _ in .text(fine) }
        let helper = ProbeHelper(on: loop, path: "/nonexistent/roamward-probe")
        return (server, helper, probe(server, by: helper, on: loop, then: done))
      }
    }
    let cure = "cure: install the package roamward, or the program in PATH"
    #expect(reply == .unsent(reason: "roamward-probe cannot be started: No such file or directory; \(cure)"))
    let refuses = #"printf '{"version":1,"message":"hello","trouble":"confine system calls: no"}' >&3; cat <&3 >/dev/null"#
    #expect(try self.reply(of: refuses) == .unsent(reason: "roamward-probe cannot work: confine system calls: no"))
    #expect(try self.reply(of: "exit 7") == .unsent(reason: "roamward-probe has ended with status 7"))
    var patience = ProbeHelper.Patience()
    patience.greeting = .milliseconds(300)
    guard case .unsent(let reason) = try self.reply(of: "exec sleep 20", patience: patience) else { return #expect(Bool(false)) }
    #expect(reason.hasPrefix("roamward-probe does not come up within"))
  }

  /// The messages of a program in its place, and the reason of the failure. `hello` greets and waits for the first errand, whose number is
  /// 1; `say` sends a message.
  private static let rogues: [(script: String, reason: String)] = [
    (#"hello; say '{"version":1,"message":"hello","trouble":null}'"#, "an answer without a request"),
    ("hello; say garbage", "it is no JSON"), (#"hello; say '{"version":2,"message":"hello"}'"#, "version: it is not 1"),
    (#"hello; say '{"version":1,"message":"answer","id":2,"answer":"unanswered","reason":""}'"#, "an answer without a request"),
    (
      #"hello; say '{"version":1,"message":"answer","id":1,"answer":"addresses","addresses":["192.0.2.1"]}'"#, "an answer to another errand"
    ), (#"hello; say '{"version":1,"message":"answer","id":1,"answer":"cancelled"}'"#, "an answer to another errand"),
    // A body that nobody wants.
    (
      #"hello; say '{"version":1,"message":"answer","id":1,"answer":"response","status":200,"body":"00"}'"#, "an answer to another errand"
    ),
    // Elsewhere: another address, another port, another transport.
    ("hello; wish tcp 127.0.0.2 $port", "a socket that its errand does not lead to"),
    ("hello; wish tcp 127.0.0.1 22", "a socket that its errand does not lead to"),
    ("hello; wish udp 127.0.0.1 $port", "a socket that its errand does not lead to"),
    // A flood, of what is allowed some times.
    ("hello; while wish tcp 127.0.0.1 $port; do :; done", "a socket that its errand does not lead to"),
    // Before the greeting; and longer than any message.
    (#"say '{"version":1,"message":"answer","id":1,"answer":"unanswered","reason":""}'"#, "an answer without a request"),
    ("hello; head -c 100000 /dev/zero | dd bs=100000 iflag=fullblock status=none >&3", "Message too long"),
  ]

  @Test("one that says what it should not is ended, and its errand fails with that", arguments: rogues)
  func rogue(script: String, expected: String) throws {
    let words = #"""
      say() { printf '%s' "$1" 2>/dev/null >&3; }
      wish() { say '{"version":1,"message":"wish","id":1,"wish":1,"transport":"'$1'","destination":{"address":"'$2'","port":'$3'}}'; }
      hello() {
        say '{"version":1,"message":"hello","trouble":null}'
        order=$(dd bs=65536 count=1 status=none <&3)
        port=${order##*127.0.0.1:} port=${port%%[!0-9]*}
      }

      """#
    guard case .unsent(let reason) = try reply(of: words + script + "\nsleep 20") else { return #expect(Bool(false), "it was believed") }
    #expect(reason.hasPrefix("roamward-probe broke the protocol: ") && reason.contains(expected), "\(reason)")
  }

  @Test("an honest program in its place is believed: the check above can tell")
  func honest() throws {
    let script = #"""
      printf '{"version":1,"message":"hello","trouble":null}' >&3
      dd bs=65536 count=1 status=none <&3 >/dev/null
      printf '{"version":1,"message":"answer","id":1,"answer":"response","status":299,"body":""}' >&3
      sleep 20
      """#
    #expect(try reply(of: script) == .response(status: 299))
  }

  @Test("a request that is longer than any message is not sent, and others go on")
  func tooLong() throws {
    let replies: [ProbeReply] = try inNamespaces {
      try onLoop { loop, done in
        let server = try TinyHTTPServer(on: loop) { _ in .text(fine) }
        let helper = ProbeHelper(on: loop)
        let runner = ProbeRunner(on: loop, helper, resolver: EndpointResolver(on: loop, helper))
        var replies: [ProbeReply] = []
        let path = String(repeating: "a", count: 70_000)
        let request = ProbeRequest(url: "http://127.0.0.1:\(server.port)/\(path)")
        let long = runner.run(request, by: ProbePassage(link: "lo", nameServers: .known([]))) { replies.append($0) }
        return (server, helper, runner, long, probe(server, by: helper, on: loop) { done(replies + [$0]) })
      }
    }
    #expect(replies == [.unsent(reason: "the request is longer than 65536 bytes"), .response(status: 200)])
  }

  @Test("more errands than it does at once wait their turn, and all are done")
  func many() throws {
    let replies: [ProbeReply] = try inNamespaces {
      try onLoop { loop, done in
        let server = try TinyHTTPServer(on: loop) { _ in .text(fine) }
        let bench = try ProbeBench(on: loop, names: [try #require(IPAddress("127.0.0.1"))])
        var replies: [ProbeReply] = []
        let runs = (0..<40).map { number in
          bench.runner.run(ProbeRequest(url: "http://n\(number).example:\(server.port)/", timeout: .seconds(20)), by: bench.passage) {
            reply in
            replies.append(reply)
            if replies.count == 40 { done(replies) }
          }
        }
        return (server, bench, runs)
      }
    }
    #expect(replies == Array(repeating: .response(status: 200), count: 40))
  }
}
