package import KernelModel

extension [Step] {
  /// The same steps. An engine that has just been started is configured right before its link is up: until it answers, the kernel gives the
  /// link its addresses.
  package var engineStepsLate: [Step] {
    let configured = filter { if case .configureWireGuard = $0 { $0.isOutsideKernel } else { false } }
    if configured.isEmpty || count == configured.count { return self }
    var steps = filter { !configured.contains($0) }
    for step in configured {
      let up = steps.firstIndex { if case .setUp(let link) = $0 { step.concerns(link: link, table: 0) } else { false } }
      steps.insert(step, at: up ?? steps.endIndex)
    }
    return steps
  }
}

extension Step {
  /// Whether another program than the kernel applies it.
  var isOutsideKernel: Bool {
    switch traits.executor {
    case .firewall, .resolverFile, .userspaceEngine, .proxies: true
    // Steps of resolver programs take another path; the applier refuses them.
    case .kernelInBatches, .kernel, .resolverProgram: false
    }
  }
}
