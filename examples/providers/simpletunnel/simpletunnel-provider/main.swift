import Glibc
import RoamwardProvider
import SimpleTunnel

exit(ProviderProgram.run(SimpleTunnel.self, program: "simpletunnel 1.0"))
