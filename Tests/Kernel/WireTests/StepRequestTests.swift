import KernelModel
import TestKit
import Testing
import Wire

@Suite struct StepRequestTests {
  @Test("a step that goes out in batches has one message, and no other has any") func messages() {
    for step in Sample.steps {
      var writer = NetlinkWriter(reserving: 64)
      writer.write(step, link: 7, sequence: 3, flags: 0)
      let messages = Array(NetlinkMessages(writer.bytes))
      #expect(messages.count == (step.traits.executor == .kernelInBatches ? 1 : 0), "\(step)")
    }
  }

  @Test("a printed undo is one or more commands, or is told to be none; only a link's own settings have no undo, which end with it")
  func printedUndo() {
    for step in Sample.steps {
      guard let undo = step.undo else {
        let isOfLink =
          switch step {
          case .setAlias, .configureWireGuard, .renewSessions, .setUp: step.link != nil
          default: false
          }
        #expect(step.traits.takesAway || isOfLink, "\(step)")
        continue
      }
      let commands = undo.description.split(separator: "; ")
      let isTyped = commands.allSatisfy { command in
        ["ip ", "nft ", "resolvectl ", "resolvconf "].contains { command.hasPrefix($0) } && !command.contains(": ")
      }
      #expect(undo.isCommand == isTyped && !commands.isEmpty, "\(undo)")
    }
  }

  @Test("what takes a step back belongs to the same link or table, and what takes something away has no effect but that") func inverses() {
    for step in Sample.steps {
      #expect(!step.description.isEmpty)
      #expect(step.executor(isOfResolver: true) == step.isOfResolver)
      guard let undo = step.undo else { continue }
      #expect(undo.link == step.link && undo.traits.table == step.traits.table, "\(step)")
      #expect(undo.traits.executor == step.traits.executor, "\(step)")
      #expect(undo.undo.map { $0 == step } ?? undo.traits.takesAway, "\(step)")
    }
  }
}

extension Step {
  fileprivate func executor(isOfResolver: Bool) -> Bool {
    switch traits.executor {
    case .resolverFile, .resolverProgram: isOfResolver
    case .kernelInBatches, .kernel, .firewall, .userspaceEngine, .proxies: !isOfResolver
    }
  }
}
