"""What a teams file must hold. (The classes live in ``tracer_hooks.testing``: third parties need them too.)

``tests/contract/teams/<entry point>_teams.py`` defines one class ``Teams(ContractTeams)``::

    from tracer_hooks.testing import PROMPTS, ContractTeams, Scenario, ScriptedLLM, lookup

    class Teams(ContractTeams):
        adapter = "autogen"                                  # the entry point's name

        def single(self, llm, *, tools=(), prompts=None, streaming=False, max_calls=100): ...      # agent "solo"
        def pipeline(self, llm, *, tools=(lookup,), prompts=None): ...      # researcher (tools) -> writer -> reviewer
        def handoff(self, llm): ...                          # triage -> billing
        def manager(self, llm): ...                          # somebody chooses "beta" of "alpha", "beta"
        def parallel(self, llm): ...                         # left | right
        def nested(self, llm): ...                           # an inner team with "expert"; "lead" sums up
        def custom_model(self, texts): ...                   # a model class written here, no server
        def interrupting(self, llm): ...                     # stops by control flow that is not an error

        def script(self, scenario): ...                      # only where SCRIPTS[scenario] does not fit the framework
        def run(self, team, task): ...                       # crew.kickoff(...), graph.invoke(...); default asyncio.run
        async def arun(self, team, task): ...
        def stream(self, team, task): ...                    # plain generator
        def astream(self, team, task): ...                   # asynchronous generator: return team.run_stream(task=task)

        def plain(self, result): ...                         # result or streamed item without ids and times
        def parts(self, team): ...                           # objects and classes that the adapter may patch
        def broken_probe(self): ...                          # context manager: one hook point is missing

Rules
- Import the framework at the top of the file; the file is only imported when the framework is to be tested.
- Each builder gives a NEW team with new clients, named as its method (``single``, ``pipeline`` ...), agents named as in
  ``ContractTeams``, told ``{**PROMPTS, **(prompts or {})}[agent]``; client retries off (max_retries=0).
- What the framework cannot do: ``self.not_offered("why")`` (the default of most builders). The kit shows it as a skip.
- ``run`` and the others pass the task as the framework's users do, and call the entry point on ``team`` (which is
  hooked when the kit wants that). They do not hook.
- ``team`` objects are reused for a second run in one test: reset in ``run`` if the framework needs it.
"""
