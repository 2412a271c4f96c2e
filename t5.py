import json, sys
sys.path.insert(0,"/tmp/h/h4srv")
import urllib.request
from tracer_hooks.telemetry import scan_otlp, read_otlp, assemble, normalise
from tracer_hooks.telemetry._otlp_read import _decode_span
ids=[l.split()[:2] for l in open("/tmp/h/h4srv/ids.txt")]
get=lambda u: json.load(urllib.request.urlopen(u))
T=ids[0][1]
A=get(f"http://127.0.0.1:6416/v1/projects/th/spans/otlpv1?trace_id={T}&limit=100")["data"]
B=get(f"http://127.0.0.1:6416/v1/projects/th/spans?trace_id={T}&limit=100")["data"]
M=get(f"http://127.0.0.1:5416/api/3.0/mlflow/traces/batchGet?trace_ids=tr-{ids[1][1]}")["traces"][0]["spans"]
def stripped(v):
    if isinstance(v, dict): return {k: stripped(x) for k,x in v.items() if x is not None}
    if isinstance(v, list): return [stripped(x) for x in v]
    return v
print(json.dumps(stripped(A[-1]),indent=0)[:3000])
for f, S in (("phx",[stripped(s) for s in A]),("phx",B),("mlf",M)):
    rec=[_decode_span(s,"x",{},"") for s in S]
    own=read_otlp(f"/tmp/h/h4srv/{f}.jsonl")
    by={r.span_id:r for r in rec}
    for o in own:
        r=by[o.span_id]
        for k in ("name","kind","start_ns","end_ns","status","status_message","parent_id","resource","scope","links"):
            if getattr(o,k)!=getattr(r,k): print(f, o.name, k, getattr(o,k), getattr(r,k))
        for k in {**o.attributes, **r.attributes}:
            a,b=o.attributes.get(k),r.attributes.get(k)
            if a!=b: print("   ",f, o.name, k, repr(a)[:100], "|", repr(b)[:100])
        if o.events!=r.events: print("   events", o.events, r.events)
    print(len(own), len(rec))
